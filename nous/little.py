"""Little words: what a language cannot do without and what says nothing of what a text is about, by the name of the language's stemmer.

They are compared folded and, in Latin and Greek letters, without accents (nous.terms).
"""

from collections.abc import Mapping

_WRITTEN = {
    "english": (
        "a about after all am an and any are aren as at be because been before being but by can cannot could did didn do does doesn"
        " doing don during each few for from had has hasn have having he her here hers him his how i if in into is isn it its itself"
        " just me my of off on once only or other our ours out own same she should shouldn since so some such than that the their theirs"
        " them then there these they this those through to too under until up very was wasn we were weren what when where which"
        " while who whom whose why will with won would wouldn you your yours"
    ),
    "spanish": (
        "a al algo como con cual cuando cuanto de del desde donde dos el ella ellas ellos en entre era es esa ese eso esta estaba"
        " estan este esto estoy fue fueron ha habia han hasta hay la las le les lo los mas me mi mis mucho muy nada ni no nos o otra"
        " otro para pero por porque que quien se ser si sin sobre son su sus tambien te tiene todo tu tus un una uno unos y ya yo"
    ),
    "french": (
        "a ai au aux avait avec ce ces cette chez comme comment dans de depuis des du elle elles en est et etaient etait ete etes eu"
        " il ils je la le les leur leurs lui ma mais me mes moi mon ne nos notre on ont ou par pas plus pour pourquoi quand que"
        " quel quelle quels qui quoi sa sans se ses son sont suis sur ta te tes toi ton tres tu un une vos votre vous y"
    ),
    "german": (
        "aber alle als also am an auch auf aus bei bin bis da damit das dass dem den der des die doch du durch ein eine einem einen"
        " einer eines er es fur gegen habe haben hat hatte ich ihm ihn ihr ihre im in ist ja kann kein keine konnen man mein meine"
        " mich mir mit nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so uber um und uns unser unter vom von vor"
        " wann war waren warum was welche welcher welches wenn wer werden wie wieder wir wird wo wurde zu zum zur zwischen"
    ),
    "portuguese": (
        "a ao aos as com como da das de dela dele depois do dos e ela ele eles em entre era essa esse esta estava este eu foi foram"
        " ha isso isto ja lhe mais mas me meu minha muito na nao nas nem no nos num numa o onde os ou para pela pelo por porque"
        " quais qual quando que quem se sem ser seu sua suas tambem te tem tinha um uma voce"
    ),
    "italian": (
        "a ai al alla alle anche che chi ci come con cosa da dal dalla degli dei del della delle di dove e ed era gli ha hanno ho i"
        " il in io la le lei lo loro lui ma mi mia mio ne negli nel nella noi non o per perche piu quale quando quella quello questa"
        " questo se sei si sia sono su sua sue sul sulla suo ti tra tu tuo un una uno vi voi"
    ),
    "dutch": (
        "aan als bij dan dat de den der deze die dit door een en er ge geen had heb hebben heeft het hij hoe hun ik in is je jij"
        " kan maar met mijn naar niet nog nu of om onder ons ook op over te tot uit van veel voor waar waarom wanneer want was wat"
        " we wel welke werd wie wij wordt ze zich zij zijn zo"
    ),
    "swedish": (
        "alla att av blev da dar de dem den denna det detta din dina du efter ej eller en er ett for fran ha hade han har hon honom"
        " hur i icke inte ja jag kan man med mig min mina mot nar ni nu och om oss pa sig sin sina skall som till under upp ut vad"
        " var varfor varit vi vid vilken"
    ),
    "russian": (
        "а без более бы был была были было быть в вам вас весь во вот все всех вы где да даже для до его ее если есть еще же за"
        " зачем и из или им их к как какая какие какой когда кто ли между меня мне мой моя мы на над не него нее нет ни но о об он"
        " она они оно от по под почему при с сколько со так такой там то тоже только у уже чего чем что чтобы эта эти это я"
    ),
    "greek": (
        "αλλα αν απο αυτα αυτη αυτο για δεν εγω ειναι ενα η ηταν θα και κατα με μετα να ο οι ποιος ποτε που πως σε στα στη στην στο"
        " τα την της τι το τον του των"
    ),
    "arabic": (
        "أن أنا أو أين إلى إن التي الذي الى انا او اين ثم على عن في قد كان كانت كل كم كيف لا لم لماذا ما ماذا متى مع من هذا هذه"
        " هل هو هي و يا"
    ),
    "hindi": "और कब कहाँ का कि की के को कौन क्या था थी थे ने पर में मैं यह वह से है हैं हो",
}

LITTLE: Mapping[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _WRITTEN.items()}
"""The little words of each language that has any here."""
