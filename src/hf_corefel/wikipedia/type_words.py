"""Words that tell what an English phrase is about: nouns, phrases and names of infoboxes by coarse type."""

from __future__ import annotations

from ..utils.word_lists import word_set

__all__ = ["CARRIERS", "INFOBOXES", "NOUNS", "PHRASES"]

NOUNS = {
    "person": word_set("""
        person human man woman boy girl actor actress singer songwriter musician composer conductor rapper pianist
        guitarist drummer bassist violinist cellist writer author novelist poet playwright dramatist screenwriter
        essayist journalist reporter editor columnist critic historian philosopher theologian scholar academic
        professor lecturer teacher educator scientist physicist chemist biologist mathematician astronomer economist
        engineer inventor physician doctor surgeon nurse lawyer attorney jurist judge politician statesman stateswoman
        senator congressman congresswoman governor mayor minister president chancellor diplomat ambassador king queen
        emperor empress prince princess duke duchess count countess baron baroness earl marquess nobleman noblewoman
        aristocrat monarch ruler pharaoh sultan caliph khan tsar knight pope bishop archbishop cardinal priest monk nun
        rabbi imam saint missionary preacher pastor evangelist reformer activist suffragist revolutionary soldier
        officer general admiral commander sailor pilot astronaut cosmonaut aviator explorer navigator businessman
        businesswoman businessperson entrepreneur industrialist executive banker financier investor philanthropist
        merchant footballer player quarterback midfielder defender striker goalkeeper pitcher cricketer golfer boxer
        wrestler swimmer runner sprinter cyclist skier skater gymnast athlete racer jockey coach manager referee
        racewalker fencer rower sailor rider driver director producer filmmaker cinematographer animator cartoonist
        comedian entertainer magician dancer choreographer model designer stylist photographer painter sculptor artist
        illustrator architect potter presenter broadcaster host anchor personality celebrity youtuber blogger chef cook
        restaurateur criminal murderer killer gangster mobster outlaw pirate spy terrorist assassin slave abolitionist
        settler pioneer lady landowner farmer librarian archivist archaeologist anthropologist linguist psychologist
        psychiatrist sociologist geographer geologist botanist zoologist naturalist paleontologist programmer hacker
        translator publisher bookseller collector nobel character protagonist villain superhero superheroine deity god
        goddess apostle prophet disciple son daughter wife husband brother sister mother father consort heir pretender
        leader chief secretary spokesperson adviser advisor civil-servant administrator official commissioner sheriff
        detective socialite heiress model-turned-actor lyricist vocalist organist trumpeter saxophonist dj disc-jockey
        bandleader tenor soprano baritone mezzo-soprano bass-baritone contralto clergyman churchman cleric theorist
        mystic sage swordsman samurai shogun warlord chieftain nationalist humanist orator rhetorician sophist
        statistician logician topologist geneticist virologist immunologist neuroscientist oceanographer meteorologist
        playback-singer impresario showrunner screenwriter-director lieutenant colonel captain major sergeant marshal
        tennis-player golfer chess-grandmaster grandmaster sumo-wrestler ombudsman legislator parliamentarian lawmaker
        policeman policewoman firefighter marine trader trainer instructor umpire linebacker cornerback lineman
        halfback fullback kicker punter catcher outfielder infielder shortstop goaltender defenseman defenceman winger
        centre-back
        """),
    "organization": word_set("""
        company corporation firm business conglomerate manufacturer maker retailer chain bank insurer airline carrier
        brewery distillery winery publisher-company studio label broadcaster-company network station channel newspaper
        organization organisation institution institute agency department ministry bureau commission committee council
        board authority university college school academy seminary conservatory lyceum gymnasium-school association
        federation union society club team franchise league foundation charity trust ngo nonprofit party band group duo
        trio quartet quintet orchestra choir ensemble troupe army navy force regiment battalion brigade division corps
        squadron militia unit church-body denomination order diocese archdiocese movement parliament legislature senate
        congress assembly court government cabinet administration police hospital clinic laboratory think-tank
        consortium cartel subsidiary holding startup start-up operator distributor dealership supplier provider
        confederation guild fraternity sorority sect cult brotherhood gang syndicate mafia collective cooperative
        co-operative parliament-body tribunal bloc alliance coalition faction enterprise consultancy brokerage exchange
        utility contractor automaker carmaker shipbuilder developer-company supergroup boyband consulate multinational
        airliner-operator wing fleet soccer-club lobby regulator watchdog secretariat
        """),
    "place": word_set("""
        city town village hamlet municipality settlement commune comune suburb neighborhood neighbourhood district
        borough county parish province state territory region prefecture oblast voivodeship canton department-area
        republic kingdom country nation sovereign-state empire duchy principality sultanate emirate caliphate colony
        protectorate dependency capital metropolis conurbation area locality community community-area township
        subdistrict arrondissement governorate raion krai municipality-district island islet archipelago atoll
        peninsula cape continent subcontinent ocean sea bay gulf strait channel-water lake lagoon reservoir river
        stream creek tributary waterfall canal mountain hill peak summit volcano range ridge plateau valley canyon
        gorge desert steppe plain forest woodland glacier cave beach coast park garden reserve building skyscraper
        tower house mansion palace castle fortress fort citadel bridge tunnel dam road street avenue square highway
        motorway freeway railway railroad line station-building airport airfield airbase seaport harbour harbor port
        stadium arena venue theatre theater museum gallery library church cathedral basilica chapel abbey monastery
        convent temple shrine mosque synagogue pagoda cemetery mausoleum tomb necropolis monument memorial site ruin
        ruins lighthouse prison jail hotel resort mall landmark skyscrapers crater planet moon star galaxy asteroid
        constellation exoplanet nebula seat hometown birthplace subdivision census-designated-place cdp ghost-town
        enclave exclave exurb barrio barangay ward constituency electorate riding watershed basin delta estuary fjord
        inlet sound isthmus reef spring wetland swamp marsh moor heath oasis pass waterway interstate expressway
        quarter precinct plaza campus citystate city-state microstate nation-state comarca banlieue headland promontory
        zoo aquarium observatory casino racecourse racetrack speedway velodrome ballpark amphitheatre amphitheater
        gymnasium palazzo villa chateau château manor courthouse capitol windmill powerhouse prefecture-level-city
        megacity market-town seaside-town
        """),
    "work": word_set("""
        film movie documentary sequel prequel remake short featurette series miniseries mini-series show sitcom serial
        telenovela soap episode season cartoon anime manga comic webcomic book novel novella story tale poem epic play
        drama tragedy comedy musical opera operetta ballet symphony concerto sonata cantata oratorio suite overture
        album ep single song hymn anthem ballad mixtape soundtrack compilation track lp video-game videogame game
        painting fresco mural portrait sculpture statue photograph artwork magazine journal periodical weekly
        encyclopedia encyclopaedia dictionary textbook memoir autobiography biography essay treatise manuscript codex
        gospel epistle scripture bible website webseries podcast programme program thriller western melodrama romcom
        biopic franchise-work trilogy tetralogy saga novelization adaptation screenplay composition piece mass requiem
        newsletter tabloid broadsheet fanzine blog database sitcoms films novels albums songs
        """),
    "event": word_set("""
        war battle siege conflict campaign operation invasion raid skirmish uprising rebellion revolt revolution mutiny
        coup riot riots protest protests strike massacre genocide assassination murder shooting bombing attack attacks
        hijacking crash accident disaster earthquake tsunami hurricane typhoon cyclone tornado flood famine epidemic
        pandemic outbreak explosion eruption wildfire fire crisis scandal controversy trial election elections
        referendum plebiscite summit-meeting conference convention symposium congress-meeting festival fair exhibition
        expo tournament championship championships cup olympics olympiad games race marathon regatta match final finals
        playoffs grand-prix bowl ceremony holiday celebration carnival parade pageant wedding coronation funeral
        depression recession bubble merger treaty-signing armistice ceasefire expedition voyage mission spaceflight
        tour concert edition contest competition derby event incident blackout heist kidnapping
        """),
    "product": word_set("""
        product brand software application app browser operating-system language-program console smartphone phone
        tablet computer laptop microprocessor processor chip car automobile sedan suv truck motorcycle locomotive
        aircraft airplane airliner fighter bomber helicopter missile rocket spacecraft satellite rifle pistol gun
        submarine battleship cruiser destroyer frigate ship vessel yacht tank drug medication vaccine antibiotic beer
        wine whisky whiskey vodka cocktail drink beverage soft-drink candy snack cereal toy camera watch engine
        typewriter synthesizer handgun revolver carbine howitzer torpedo warship corvette dreadnought steamship liner
        crossover hatchback minivan roadster supercar coupe coupé sub-compact compiler library-software framework
        plugin middleware firmware codec file-format malware search-engine
        """),
    "species": word_set("""
        species subspecies genus family-taxon taxon clade phylum breed cultivar bird mammal reptile fish insect beetle
        moth butterfly spider plant tree shrub herb grass flower fern moss fungus mushroom bacterium virus dinosaur
        amphibian frog snake lizard turtle mollusc mollusk crustacean primate rodent snail gastropod orchid
        """),
    "other": word_set("""
        language dialect religion philosophy theory concept idea principle law theorem equation number constant element
        compound chemical mineral rock disease disorder syndrome condition symptom infection cancer term word phrase
        name surname given-name letter alphabet script unit-measure currency color colour sport martial-art genre style
        method technique process procedure algorithm system science discipline field branch study ethnicity people
        tribe nationality award prize medal title office position post rank profession occupation ideology doctrine
        policy constitution treaty act bill statute code amendment decree right protein gene enzyme hormone molecule
        particle force-physics property phenomenon practice custom tradition ritual belief myth legend cuisine dish
        food cheese bread sauce soup dessert fruit vegetable instrument dance calendar year decade century month day
        era period dynasty epoch age mathematics physics chemistry biology list set
        """),
}

# Nouns that say nothing by themselves: what follows their "of" does.
CARRIERS = word_set(
    "one type kind form sort class series pair variety variant version member-species part name group-of collection any"
)
PHRASES = {
    "political party": "organization", "football club": "organization", "record label": "organization",
    "video game": "work", "television series": "work", "radio station": "organization", "ethnic group": "other",
    "given name": "other", "family name": "other", "programming language": "product", "operating system": "product",
    "markup language": "product", "search engine": "product", "grand prix": "event",
    "census-designated place": "place", "railway station": "place", "train station": "place", "metro station": "place",
    "bus station": "place", "power station": "place", "police station": "place", "space station": "product",
    "fire station": "place", "television network": "organization", "computer network": "other",
    "mountain range": "place", "dog breed": "species", "soap opera": "work", "light novel": "work",
    "board game": "product", "card game": "product", "short story": "work", "graphic novel": "work",
    "science fiction": "work", "summer olympics": "event", "winter olympics": "event", "military unit": "organization",
    "state of": "place", "church building": "place", "public company": "organization", "video game console": "product",
    "game engine": "product", "game show": "work", "role-playing game": "product", "shopping center": "place",
    "shopping centre": "place", "sports center": "place", "sports centre": "place", "sports season": "event",
    "football season": "event", "art movement": "other", "social movement": "other", "natural satellite": "place",
    "artificial satellite": "product", "space mission": "event", "human settlement": "place", "star system": "place",
    "secondary school": "organization", "law firm": "organization", "airport terminal": "place",
    "fish species": "species", "association football": "other", "professional wrestling": "other",
    "civil parish": "place", "art gallery": "place", "crime family": "organization", "royal family": "organization",
    "noble family": "organization", "royal house": "other", "tennis tournament": "event", "wine region": "place",
    "military rank": "other", "chemical element": "other", "chemical compound": "other", "set index": "other",
    "music genre": "other", "film genre": "other", "martial art": "other", "mobile phone": "product",
    "airline alliance": "organization", "human rights": "other", "talk show": "work", "trading card game": "product",
    "web browser": "product", "social network": "product", "research station": "place", "weather station": "place",
    "pop group": "organization", "rock group": "organization", "american football player": "person",
    "star wars character": "person", "prime minister": "person", "vice president": "person", "head coach": "person",
    "serial killer": "person", "secret service": "organization", "intelligence service": "organization",
    "news agency": "organization", "world war": "event", "civil war": "event", "public holiday": "event",
    "stock exchange": "organization", "stock market": "organization", "fictional city": "place",
    "wikimedia disambiguation page": "other", "disambiguation page": "other", "list article": "other",
}  # fmt: skip

INFOBOXES = {
    "settlement": "place", "country": "place", "former country": "place", "person": "person", "officeholder": "person",
    "royalty": "person", "military person": "person", "musical artist": "", "company": "organization",
    "organization": "organization", "football biography": "person", "sportsperson": "person", "film": "work",
    "television": "work", "album": "work", "song": "work", "single": "work", "book": "work",
    "military conflict": "event", "civilian attack": "event", "software": "product", "os": "product",
    "language": "other", "islands": "place", "u.s. state": "place", "us state": "place", "body of water": "place",
    "u.s. county": "place", "video game": "work", "website": "work", "automobile": "product",
    "aircraft begin": "product", "military unit": "organization", "uk place": "place", "french commune": "place",
    "german location": "place", "government agency": "organization", "biography": "person", "philosopher": "person",
    "programming language": "product", "disease": "other",
}  # fmt: skip
