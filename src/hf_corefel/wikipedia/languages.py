"""What dumps do not say about wikis and their languages: databases, older namespace names, redirect words, prefixes.

A dump's head lists the wiki's own namespaces. What stands here is what MediaWiki understands beside them, for the
largest Wikipedias; for another language the English rules hold.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..utils.word_lists import word_set

__all__ = [
    "DISAMBIGUATION_NAMES",
    "LANGUAGE_CODES",
    "LINK_TRAILS",
    "NAMESPACE_ALIASES",
    "OTHER_PROJECTS",
    "REDIRECT_WORDS",
    "UNREAD_SECTIONS",
    "database_of",
    "label_language",
]


def _phrases(text: str) -> frozenset[str]:
    """Return the phrases that stand between bars."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split("|"))


# Prefixes of interwiki links to Wikipedias in other languages.
LANGUAGE_CODES = word_set("""
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban bar bat-smg
    bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo ce ceb ch cho
    chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat
    ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak
    haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd
    kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln
    lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na
    nah nan nap nds nds-nl ne new ng nia nl nn no nb nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm
    pdc pdt pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn sco
    sd se sg sgs sh shi shn si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy tdd te
    tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo
    wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu
    """)
# Wikipedias whose database is not called by the code of their language, by that code.
_DATABASES: Mapping[str, str] = {
    "nb": "nowiki",
    "be-tarask": "be_x_oldwiki",
    "cbk": "cbk_zamwiki",
    "egl": "emlwiki",
    "gsw": "alswiki",
    "lzh": "zh_classicalwiki",
    "nan": "zh_min_nanwiki",
    "rup": "roa_rupwiki",
    "sgs": "bat_smgwiki",
    "vro": "fiu_vrowiki",
    "yue": "zh_yuewiki",
}
# What Wikidata calls the language of labels, where Wikipedias go by another code.
_LABEL_LANGUAGES: Mapping[str, str] = {
    "no": "nb",
    "simple": "en",
    "als": "gsw",
    "bat-smg": "sgs",
    "be-x-old": "be-tarask",
    "fiu-vro": "vro",
    "roa-rup": "rup",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
}


def database_of(language: str) -> str:
    """Return the database of the Wikipedia of a language, which Wikidata lists its articles by: ``nowiki`` for nb."""
    return _DATABASES.get(language, language.replace("-", "_") + "wiki")


def label_language(language: str) -> str:
    """Return the code that Wikidata has labels in the language of a Wikipedia by: ``nb`` for no."""
    return _LABEL_LANGUAGES.get(language, language)


# Prefixes of interwiki links to sister projects and other sites, with their abbreviations.
OTHER_PROJECTS = word_set("""
    w wikipedia wikt wiktionary s wikisource q wikiquote b wikibooks n wikinews v wikiversity voy wikivoyage c commons d
    wikidata m meta metawikipedia mw mediawikiwiki species wikispecies wmf foundation wikimedia incubator phab
    phabricator bugzilla toollabs toolforge translatewiki betawikiversity oldwikisource outreach testwiki wikitech
    strategy doi hdl imdbname imdbtitle isbn rfc pmid google googlebooks ietf wikia wikicities acronym jstor worldcat
    """)

# What siteinfo does not list: namespaces' aliases in the wiki's language, such as the older name of files.
NAMESPACE_ALIASES: Mapping[str, Mapping[str, int]] = {
    "ar": {"صورة": 6, "ملف": 6, "تصنيف": 14},
    "cs": {"soubor": 6, "kategorie": 14},
    "da": {"billede": 6, "kategori": 14},
    "de": {"datei": 6, "bild": 6, "kategorie": 14, "benutzerin": 2, "vorlage": 10, "portal": 100},
    "en": {"wp": 4, "wt": 5, "tm": 828},
    "es": {"archivo": 6, "imagen": 6, "categoría": 14, "usuaria": 2, "plantilla": 10},
    "fa": {"پرونده": 6, "تصویر": 6, "رده": 14},
    "fi": {"tiedosto": 6, "kuva": 6, "luokka": 14},
    "fr": {"fichier": 6, "image": 6, "catégorie": 14, "utilisatrice": 2, "modèle": 10},
    "he": {"קובץ": 6, "תמונה": 6, "קטגוריה": 14},
    "hu": {"fájl": 6, "kép": 6, "kategória": 14},
    "it": {"file": 6, "immagine": 6, "categoria": 14},
    "ja": {"ファイル": 6, "画像": 6, "カテゴリ": 14},
    "ko": {"파일": 6, "그림": 6, "분류": 14},
    "nl": {"bestand": 6, "afbeelding": 6, "categorie": 14},
    "nb": {"fil": 6, "bilde": 6, "kategori": 14},
    "no": {"fil": 6, "bilde": 6, "kategori": 14},
    "pl": {"plik": 6, "grafika": 6, "kategoria": 14, "wikipedystka": 2},
    "pt": {"ficheiro": 6, "arquivo": 6, "imagem": 6, "categoria": 14, "usuária": 2},
    "ro": {"fișier": 6, "imagine": 6, "categorie": 14},
    "ru": {"файл": 6, "изображение": 6, "категория": 14, "участница": 2, "шаблон": 10},
    "sv": {"fil": 6, "bild": 6, "kategori": 14},
    "tr": {"dosya": 6, "resim": 6, "kategori": 14},
    "uk": {"файл": 6, "зображення": 6, "категорія": 14},
    "vi": {"tập tin": 6, "hình": 6, "thể loại": 14},
    "zh": {"文件": 6, "檔案": 6, "档案": 6, "图像": 6, "圖像": 6, "分类": 14, "分類": 14},
}

# Letters that a link takes in when they follow it at once, as in [[bus]]es; elsewhere "[a-z]+".
LINK_TRAILS: Mapping[str, str] = {
    "ar": "[a-z\u0621-\u064a\u064b-\u0652]+",
    "be": "[абвгґджзеёжзійклмнопрстуўфхцчшыьэюяćčłńśšŭźža-z]+",
    "bg": "[a-zабвгдежзийклмнопрстуфхцчшщъыьэюя]+",
    "cs": "[a-záčďéěíňóřšťúůýž]+",
    "da": "[a-zæøå]+",
    "de": "[äöüßa-z]+",
    "el": "[a-zαβγδεζηθικλμνξοπρστυφχψωςΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩάέήίόύώϊϋΐΰΆΈΉΊΌΎΏΪΫ]+",
    "es": "[a-záéíóúñ]+",
    "fa": "[ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآأئؤة\u200c]+",
    "fi": "[a-zäö]+",
    "fr": "[a-zàâçéèêîôûäëïöüùÇÉÂÊÎÔÛÄËÏÖÜÀÈÙ]+",
    "he": "[a-zא-ת]+",
    "hu": "[a-záéíóúöüőűÁÉÍÓÚÖÜŐŰ]+",
    "it": "[a-zàéèíîìóòúù]+",
    "nl": "[a-zäöüïëéèà]+",
    "nb": "[æøåa-z]+",
    "no": "[æøåa-z]+",
    "pl": "[a-zęóąśłżźćńĘÓĄŚŁŻŹĆŃ]+",
    "pt": "[áâãàéêẽçíòóôõq̃úüűũa-z]+",
    "ro": "[a-zăâîşţșțĂÂÎŞŢȘȚ]+",
    "ru": "[a-zабвгдеёжзийклмнопрстуфхцчшщъыьэюя]+",
    "sv": "[a-zåäöéÅÄÖÉ]+",
    "tr": "[a-zÇĞçğİıÖöŞşÜüÂâÎîÛû]+",
    "uk": "[a-zабвгґдеєжзиіїйклмнопрстуфхцчшщьєюяёъы“»]+",
}

# Words after "#" that make a page a redirect; "#REDIRECT" is understood everywhere.
REDIRECT_WORDS = word_set("""
    redirect weiterleitung redirection redirección redireccion rinvia rinvio doorverwijzing przekieruj patrz tam
    redirecionamento перенаправление перенапр перенаправлення omdirigering omdiriger ohjaus uudelleenohjaus přesměruj
    átirányítás redirectează yönlendirme yönlendi̇rme yönlendir تحويل تغییر_مسیر تغییرمسیر הפניה
    転送 リダイレクト 넘겨주기
    重定向 ανακατευθυνση alih виклик пренасочване преусмери преусмјери redirekcija presmeruj preusmeri
    redirigi birzuzendu đổi
    """)

# Names of templates that say that a page lists what a title may mean, and the words in brackets after such titles.
DISAMBIGUATION_NAMES = _phrases("""
    disambiguation|disambig|dab|disamb|disambiguation page|disambiguation cleanup|hndis|hndis-cleanup|geodis|numberdis
    |mathdab|schooldis|roaddis|letterdisambig|tla disambiguation|tla|3cc|lcd|mil-unit-dis|shipindex dab|callsigndis
    |mountainindex dab|genus disambiguation|species latin name disambiguation|big disambig|wp disambig
    |begriffsklärung|homonymie|desambiguación|desambiguacion|desambig|disambigua|doorverwijspagina|dp|neoodnoznačnost
    |неоднозначность|disambig-ru|ujednoznacznienie|desambiguação|förgrening|rozcestník|egyértelmű|egyért
    |неоднозначність|багатозначність|anlam ayrımı|anlamayrımı|曖昧さ回避|aimai|동음이의|消歧义|消歧義
    |توضيح|ابهام‌زدایی|פירושונים
    |täsmennyssivu|flertydig|peker|dezambiguizare|αποσαφήνιση|định hướng|disambigu
    """)

# Sections whose links and words are lists about the page, no text of it.
UNREAD_SECTIONS = _phrases("""
    see also|references|external links|external link|further reading|notes|notes and references|footnotes|citations
    |sources|bibliography|works cited|references and notes|notes and citations|explanatory notes|general references
    |siehe auch|einzelnachweise|weblinks|literatur|quellen|anmerkungen|belege|fußnoten
    |voir aussi|références|notes et références|liens externes|lien externe|bibliographie|articles connexes|annexes
    |véase también|referencias|enlaces externos|bibliografía|notas|voci correlate|note|collegamenti esterni|bibliografia
    |altri progetti|zie ook|externe links|externe link|bronnen|referenties|literatuur|bronnen, noten en/of referenties
    |ver também|referências|ligações externas|zobacz też|przypisy|linki zewnętrzne|uwagi
    |см. также|примечания|ссылки|литература|источники|див. також|примітки|посилання|джерела|література
    |se även|referenser|källor|externa länkar|se også|referanser|eksterne lenker|referencer|eksterne henvisninger
    |katso myös|lähteet|aiheesta muualla|viz též|související články|reference|externí odkazy|lásd még|jegyzetek|források
    |további információk|ayrıca bakınız|kaynakça|dış bağlantılar|vezi și|legături externe|関連項目|脚注|外部リンク
    |参考文献|出典
    |같이 보기|각주|외부 링크|参见|參見|参考文献|参考资料|參考資料|外部链接|外部連結|注释
    |انظر أيضا|انظر أيضًا|مراجع|وصلات خارجية|جستارهای وابسته|منابع
    |پیوند به بیرون|ראו גם|הערות שוליים|קישורים חיצוניים
    """)
