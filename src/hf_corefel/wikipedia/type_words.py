"""Words that tell what an English phrase is about: nouns, phrases and names of infoboxes by coarse type."""

from __future__ import annotations

from ..utils.word_lists import word_set

__all__ = ["ABSTRACT", "CARRIERS", "INFOBOXES", "NOUNS", "PHRASES"]

NOUNS = {
    "person": word_set("""
        person human man woman boy girl actor actress singer songwriter musician composer conductor rapper pianist
        guitarist drummer bassist violinist cellist writer author novelist poet playwright dramatist screenwriter
        essayist journalist reporter editor columnist critic historian philosopher theologian scholar academic
        professor lecturer teacher educator scientist physicist chemist biologist mathematician astronomer economist
        engineer inventor physician doctor surgeon nurse lawyer attorney jurist judge politician statesman stateswoman
        senator congressman congresswoman governor mayor minister president chancellor diplomat ambassador king queen
        emperor empress prince princess duke duchess count countess baron baroness earl marquess nobleman noblewoman
        aristocrat monarch ruler pharaoh sultan caliph khan tsar knight pope bishop archbishop cardinal priest monk
        nun rabbi imam saint missionary preacher pastor evangelist reformer activist suffragist revolutionary soldier
        officer general admiral commander sailor pilot astronaut cosmonaut aviator explorer navigator businessman
        businesswoman businessperson entrepreneur industrialist executive banker financier investor philanthropist
        merchant footballer player quarterback midfielder defender striker goalkeeper pitcher cricketer golfer boxer
        wrestler swimmer runner sprinter cyclist skier skater gymnast athlete racer jockey coach manager referee
        fencer rower sailor rider driver director producer filmmaker cinematographer animator cartoonist comedian
        entertainer magician dancer choreographer designer stylist photographer painter sculptor artist illustrator
        architect potter presenter anchor personality celebrity youtuber blogger chef cook restaurateur criminal
        murderer killer gangster mobster outlaw pirate spy terrorist assassin abolitionist settler pioneer lady
        landowner farmer librarian archivist archaeologist anthropologist linguist psychologist psychiatrist
        sociologist geographer geologist botanist zoologist naturalist paleontologist programmer hacker translator
        publisher bookseller collector character protagonist villain superhero superheroine deity god goddess apostle
        prophet disciple son daughter wife husband brother sister mother father consort heir pretender leader chief
        secretary spokesperson adviser advisor administrator official commissioner sheriff detective socialite heiress
        model-turned-actor lyricist vocalist organist trumpeter saxophonist dj disc-jockey bandleader tenor soprano
        baritone mezzo-soprano bass-baritone contralto clergyman churchman cleric theorist mystic sage swordsman
        samurai shogun warlord chieftain nationalist humanist orator rhetorician sophist statistician logician
        topologist geneticist virologist immunologist neuroscientist oceanographer meteorologist playback-singer
        impresario showrunner screenwriter-director lieutenant colonel captain major sergeant marshal tennis-player
        golfer chess-grandmaster grandmaster sumo-wrestler ombudsman legislator parliamentarian lawmaker policeman
        policewoman firefighter marine trader trainer instructor umpire linebacker cornerback lineman halfback
        fullback kicker punter catcher outfielder infielder shortstop goaltender defenseman defenceman winger
        centre-back magnate polymath figure head statesperson nobleperson thinker reformist archduke dauphin maharaja
        clergy hero heroine demigod nymph titan angel prodigy guru yogi lama patriarch vizier khagan daimyo
        empress-consort regent viceroy satirist humorist mogul tycoon oligarch whistleblower hostess vlogger
        influencer stuntman voice-actor pilgrim martyr crusader conquistador buccaneer privateer nanny governess maid
        servant courtesan mathematician-astronomer folklorist musicologist egyptologist biochemist ecologist
        epidemiologist cryptographer engraver goldsmith weaver glassmaker luthier tailor watchmaker
    """),
    "organization": word_set("""
        company corporation firm business conglomerate manufacturer retailer chain bank insurer airline carrier
        brewery distillery winery studio label network station channel newspaper organization organisation institution
        institute agency department ministry bureau commission committee council board authority university college
        school academy seminary conservatory lyceum association federation union society club team franchise league
        foundation charity trust ngo nonprofit party band group duo trio quartet quintet orchestra choir ensemble
        troupe army navy force regiment battalion brigade division corps squadron militia unit denomination order
        diocese archdiocese parliament legislature senate congress assembly court government cabinet administration
        police hospital clinic laboratory consortium cartel subsidiary holding startup operator distributor dealership
        provider confederation guild fraternity sorority sect cult brotherhood gang syndicate mafia collective
        cooperative co-operative tribunal bloc alliance coalition faction enterprise consultancy brokerage exchange
        utility contractor automaker carmaker shipbuilder supergroup boyband consulate multinational wing fleet
        soccer-club lobby regulator watchdog secretariat forces monarchy-body chapter caucus faculty senate-body panel
        lender broadcaster confederacy initiative eatery winemaker mob youth-organization telecoms non-profit
        not-for-profit
    """),
    "place": word_set("""
        city town village hamlet municipality settlement commune comune suburb neighborhood neighbourhood district
        borough county parish province state territory region prefecture oblast voivodeship canton republic kingdom
        country nation sovereign-state empire duchy principality sultanate emirate caliphate colony protectorate
        dependency capital metropolis conurbation locality community township subdistrict arrondissement governorate
        raion krai island islet archipelago atoll peninsula cape continent subcontinent ocean sea bay gulf strait lake
        lagoon reservoir river stream creek tributary waterfall canal mountain hill peak summit volcano range ridge
        plateau valley canyon gorge desert steppe plain forest woodland glacier cave beach coast park garden reserve
        building skyscraper tower house mansion palace castle fortress fort citadel bridge tunnel dam road street
        avenue square highway motorway freeway railway railroad line airport airfield airbase seaport harbour harbor
        port stadium arena venue theatre theater museum gallery library church cathedral basilica chapel abbey
        monastery convent temple shrine mosque synagogue pagoda cemetery mausoleum tomb necropolis monument memorial
        ruin ruins lighthouse prison jail hotel resort mall landmark skyscrapers crater planet moon star galaxy
        asteroid constellation exoplanet nebula seat hometown birthplace subdivision census-designated-place cdp
        ghost-town enclave exclave exurb barrio barangay ward constituency electorate riding watershed basin estuary
        fjord inlet sound isthmus reef spring wetland swamp marsh moor heath oasis pass waterway interstate expressway
        quarter precinct plaza campus citystate city-state microstate nation-state comarca banlieue headland
        promontory zoo aquarium observatory casino racecourse racetrack speedway velodrome ballpark amphitheatre
        amphitheater gymnasium palazzo villa chateau château manor courthouse capitol windmill powerhouse
        prefecture-level-city megacity market-town seaside-town monarchy polis subregion collectivity burgh islands
        mountains islets polity civilization civilisation shopping-mall superpower superstate city-region planetoid
        quasar supercluster cluster supernova crossroads heartland continent-ocean foothills highlands highland
        lowland upland uplands savanna tundra rainforest woods jungle geyser hillfort acropolis agora stupa gurdwara
        minaret obelisk arch fountain pier dock dockyard shipyard wharf quay marina depot terminal interchange tramway
        subway trail path footpath bikeway bypass roundabout viaduct aqueduct weir lock sluice quarry mine colliery
        oilfield farm ranch vineyard plantation estate area site delta
    """),
    "work": word_set("""
        film movie documentary sequel prequel remake featurette series miniseries mini-series show sitcom serial
        telenovela soap episode season cartoon anime manga comic webcomic book novel novella story tale poem epic play
        drama tragedy comedy musical opera operetta ballet symphony concerto sonata cantata oratorio suite overture
        album ep single song hymn anthem ballad mixtape soundtrack compilation lp video-game videogame game painting
        fresco mural portrait sculpture statue photograph artwork magazine journal periodical weekly encyclopedia
        encyclopaedia dictionary textbook memoir autobiography biography essay treatise manuscript codex gospel
        epistle scripture bible website webseries podcast thriller melodrama romcom biopic trilogy tetralogy saga
        novelization adaptation screenplay requiem newsletter tabloid broadsheet fanzine blog database sitcoms films
        novels albums songs oeuvre docudrama mockumentary novelette verse sonnet haiku saga-work catalog catalogue
        anthology libretto ode nocturne ep-single prelude etude fugue rhapsody waltz polka serenade cartoon-series
        manhwa manhua webtoon composition
    """),
    "event": word_set("""
        war battle siege conflict campaign operation invasion raid skirmish uprising rebellion revolt revolution
        mutiny coup riot riots protest protests strike massacre genocide assassination murder shooting bombing attack
        attacks hijacking crash accident disaster earthquake tsunami hurricane typhoon cyclone tornado flood famine
        epidemic pandemic outbreak explosion eruption wildfire fire crisis scandal controversy trial election
        elections referendum plebiscite conference convention symposium festival fair exhibition expo tournament
        championship championships cup olympics olympiad games race marathon regatta match final finals playoffs
        grand-prix bowl ceremony holiday celebration carnival parade pageant wedding coronation funeral recession
        armistice ceasefire expedition voyage mission spaceflight tour concert contest competition derby event
        incident blackout heist kidnapping grand-slam pogrom purge blockade offensive putsch insurrection insurgency
        crusade jihad landslide avalanche drought heatwave blizzard collision derailment sinking shipwreck bushfire
        hoax lawsuit verdict biennale
    """),
    "product": word_set("""
        product brand software app browser console smartphone phone tablet computer laptop microprocessor
        processor chip car automobile sedan suv truck motorcycle locomotive aircraft airplane airliner fighter bomber
        helicopter missile rocket spacecraft satellite rifle pistol gun submarine battleship cruiser destroyer frigate
        ship vessel yacht tank drug medication vaccine antibiotic typewriter synthesizer handgun revolver carbine
        howitzer torpedo warship corvette dreadnought steamship liner crossover hatchback minivan roadster supercar
        coupe coupé compiler framework plugin middleware firmware codec file-format malware smartwatch motorbike
        scooter moped tractor bulldozer airship glider drone warplane biplane seaplane trainer-aircraft convertible
        limousine van minibus tram trolleybus perfume cosmetic shampoo detergent cigarette cigar condom telescope
        microscope calculator printer scanner robot mainframe minicomputer supercomputer microcontroller gpu cpu
        router modem
    """),
    "species": word_set("""
        species subspecies genus family-taxon taxon clade phylum breed cultivar bird mammal reptile fish insect beetle
        moth butterfly spider plant tree shrub herb grass flower fern moss fungus mushroom bacterium virus dinosaur
        amphibian frog snake lizard turtle mollusc mollusk crustacean primate rodent snail gastropod orchid
        """),
    "other": word_set("""
        language dialect religion philosophy theory concept idea principle law theorem equation number constant
        element compound chemical mineral rock disease disorder syndrome condition symptom infection cancer term word
        phrase name surname letter alphabet script currency color colour sport genre style method technique process
        procedure algorithm system science discipline field branch study ethnicity people tribe nationality award
        prize medal title office position post rank profession occupation ideology doctrine policy constitution treaty
        act bill statute code amendment decree right protein gene enzyme hormone molecule particle property phenomenon
        practice custom tradition ritual belief myth legend cuisine dish food cheese bread sauce soup dessert fruit
        vegetable instrument dance calendar year decade century month day era period dynasty epoch age mathematics
        physics chemistry biology list set movement program programme project drink beverage beer wine whisky whiskey
        vodka cocktail vehicle tool device machine material substance metal alloy gas liquid gemstone acid salt
        drug-class organ tissue cell bone muscle vitamin phase stage quantity measure dimension ratio function proof
        conjecture curve polygon shape angle number-system technology industry business-model sector economy market
        subfield subdiscipline worldview attitude emotion feeling behavior behaviour trait skill habit
    """),
}

# Nouns that say nothing by themselves: what follows their "of" does.
CARRIERS = word_set("""
    one type kind form sort class series pair branch range group edition variety variant version member-species
    part name group-of collection any
""")
# Nouns that stand for no place or event of their own before "of" and a common noun.
ABSTRACT = word_set("state unit order body invasion attack fire crisis area region district range seat channel spring")
PHRASES = {
    "civil war": "event", "football season": "event", "grand prix": "event", "public holiday": "event",
    "space mission": "event", "sports season": "event", "summer olympics": "event", "tennis tournament": "event",
    "winter olympics": "event", "world championship": "event", "world war": "event",
    "airline alliance": "organization", "ballet company": "organization", "boarding school": "organization",
    "catholic church": "organization", "christian church": "organization", "crime family": "organization",
    "european union": "organization", "film studio": "organization", "football club": "organization",
    "game developer": "organization", "game publisher": "organization", "software developer": "organization",
    "software publisher": "organization", "book publisher": "organization",
    "football team": "organization", "governing body": "organization", "government body": "organization",
    "high school": "organization", "holding company": "organization", "intelligence service": "organization",
    "judicial body": "organization", "law firm": "organization", "law school": "organization",
    "legislative body": "organization", "lower house": "organization", "medical school": "organization",
    "military branch": "organization", "military unit": "organization", "national team": "organization",
    "news agency": "organization", "noble family": "organization", "opera company": "organization",
    "orthodox church": "organization", "political party": "organization", "pop group": "organization",
    "protestant church": "organization", "public broadcaster": "organization", "public company": "organization",
    "public school": "organization", "public service broadcaster": "organization", "radio station": "organization",
    "record label": "organization", "regulatory body": "organization", "rock group": "organization",
    "royal family": "organization", "secondary school": "organization", "secret service": "organization",
    "service branch": "organization", "sports team": "organization", "stock exchange": "organization",
    "stock market": "organization", "television network": "organization", "theater company": "organization",
    "theatre company": "organization", "think tank": "organization", "trade union": "organization",
    "upper house": "organization", "art movement": "other", "association football": "other",
    "chemical compound": "other", "chemical element": "other", "computer network": "other", "cross product": "other",
    "data set": "other", "deep state": "other", "disambiguation page": "other", "dot product": "other",
    "electron shell": "other", "ethnic group": "other", "family name": "other", "file format": "other",
    "film genre": "other", "given name": "other", "human rights": "other", "list article": "other",
    "martial art": "other", "mental state": "other", "military rank": "other", "music genre": "other",
    "professional wrestling": "other", "royal house": "other", "rugby union": "other", "set index": "other",
    "social movement": "other", "solid state": "other", "stringed instrument": "other",
    "wikimedia disambiguation page": "other", "wikimedia list article": "other", "american football player": "person",
    "chess grandmaster": "person", "civil servant": "person", "fashion model": "person", "film maker": "person",
    "film producer": "person", "former slave": "person", "glamour model": "person", "head coach": "person",
    "prime minister": "person", "radio host": "person", "record producer": "person", "serial killer": "person",
    "slave trader": "person", "star wars character": "person", "talk show host": "person", "television host": "person",
    "vice president": "person", "airport terminal": "place", "art gallery": "place", "art museum": "place",
    "bus station": "place", "celestial body": "place", "census-designated place": "place", "church building": "place",
    "city hall": "place", "civil parish": "place", "concert hall": "place", "dwarf planet": "place",
    "electoral district": "place", "fictional city": "place", "fire station": "place", "human settlement": "place",
    "island group": "place", "metro station": "place", "model village": "place", "mountain range": "place",
    "natural satellite": "place", "nature reserve": "place", "opera house": "place", "overseas department": "place",
    "french department": "place",
    "police station": "place", "power station": "place", "railway station": "place", "recording studio": "place",
    "research station": "place", "roman province": "place", "shopping center": "place", "shopping centre": "place",
    "shopping mall": "place", "sports center": "place", "sports centre": "place", "star system": "place",
    "state capital": "place", "state of": "place", "town hall": "place", "train station": "place",
    "weather station": "place", "wine region": "place", "artificial satellite": "product", "board game": "product",
    "car brand": "product", "card game": "product", "computer program": "product",
    "web application": "product", "mobile application": "product", "software application": "product",
    "computer virus": "product",
    "fighter aircraft": "product", "game engine": "product", "markup language": "product", "mobile phone": "product",
    "operating system": "product", "programming language": "product", "rocket engine": "product",
    "role-playing game": "product", "search engine": "product", "social network": "product", "soft drink": "product",
    "software library": "product", "space station": "product", "space telescope": "product", "sports car": "product",
    "steam engine": "product", "trading card game": "product", "video game console": "product",
    "web browser": "product", "dog breed": "species", "fish species": "species", "book series": "work",
    "film series": "work", "game show": "work", "graphic novel": "work", "light novel": "work",
    "radio program": "work", "radio programme": "work", "rock opera": "work", "science fiction": "work",
    "short story": "work", "soap opera": "work", "stage play": "work", "talk show": "work", "television film": "work",
    "television program": "work", "television programme": "work", "television series": "work", "tv program": "work",
    "tv series": "work", "video game": "work", "war film": "work", "western film": "work",
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
