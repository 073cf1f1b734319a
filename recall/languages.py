"""What people say that tells what they are after, in thirteen languages: lists of words, and nothing else.

    English, German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese, Arabic; Korean, Thai, Hindi

Phrases are in small letters and parted by `|`. A `*` at the end of one lets its last word go on (`decid*` is decide and deciding). How they
are found in a text is in hearing.py. Chinese is in both its scripts where they differ.
"""

from typing import Literal

Hint = Literal["decision", "fact", "procedure", "episode"]

GREETINGS = (
    "hey|hi|hello|hello there|hi there|hey there|sup|yo|howdy|good morning|good afternoon|good evening|good day|what's up|whats up"
    "|how are you|how are you doing|how's it going|how is it going|nice to meet you|thanks|thank you|thanks a lot|thank you very much"
    "|bye|goodbye|good night|see you|hallo|hallihallo|guten morgen|guten tag|guten abend|gute nacht|moin|servus|grüß gott|grüezi"
    "|wie geht's|wie geht es dir|wie gehts|danke|danke schön|vielen dank|tschüss|auf wiedersehen|bonjour|salut|bonsoir|coucou"
    "|bonne nuit|ça va|comment ça va|comment vas-tu|merci|merci beaucoup|au revoir|hola|buenos días|buenos dias|buenas|buenas tardes"
    "|buenas noches|qué tal|que tal|cómo estás|como estas|gracias|muchas gracias|adiós|adios|hasta luego|olá|ola|oi|bom dia|boa tarde"
    "|boa noite|tudo bem|como vai|como você está|obrigado|obrigada|tchau|ciao|salve|buongiorno|buonasera|buona sera|buonanotte"
    "|come stai|come va|grazie|grazie mille|arrivederci|привет|приветик|здравствуй|здравствуйте|доброе утро|добрый день|добрый вечер"
    "|доброй ночи|как дела|спасибо|большое спасибо|пока|до свидания|你好|您好|嗨|哈喽|哈囉|早上好|早安|下午好|晚上好|晚安|你好吗|你好嗎"
    "|最近怎么样|谢谢|謝謝|多谢|再见|再見|こんにちは|こんにちわ|こんばんは|おはよう|おはようございます|やあ|もしもし|お元気ですか"
    "|元気ですか|ありがとう|ありがとうございます|さようなら|おやすみ|おやすみなさい|مرحبا|مرحبًا|أهلا وسهلا|أهلاً وسهلاً|أهلا|أهلاً|اهلا"
    "|السلام عليكم|سلام|صباح الخير|مساء الخير|كيف حالك|كيف الحال|شكرا|شكرًا|مع السلامة|안녕|안녕하세요|안녕하십니까|좋은 아침"
    "|좋은 아침이에요|잘 지냈어요|감사합니다|고마워|고마워요|안녕히 계세요|สวัสดี|สวัสดีครับ|สวัสดีค่ะ|หวัดดี|สบายดีไหม|ขอบคุณ|ขอบคุณครับ|ขอบคุณค่ะ"
    "|नमस्ते|नमस्कार|हैलो|हाय|सुप्रभात|कैसे हो|कैसे हैं|आप कैसे हैं|धन्यवाद|शुक्रिया|अलविदा"
)

NAMES_TOO = frozenset({"ola", "oi", "yo", "sup", "salve", "moin", "servus"})
"""Greetings that are also names: a name behind one of these is more than whom it greets (`Ola Nordmann`, `Yo Yo Ma`)."""

BESIDE_A_GREETING = (
    "there|all|everyone|everybody|team|folks|guys|friend|my friend|again|today|you|to you|dear|mate|buddy|so much|very much|and|an alle"
    "|zusammen|leute|euch|dir|à tous|tout le monde|a todos|amigo|amiga|gente|pessoal|a tutti|всем|друзья|大家|朋友|各位|呀|啊|哦|们"
    "|皆さん|みなさん|ね|よ|يا|جميعا|صديقي|여러분|모두|요|ครับ|ค่ะ|ทุกคน|जी|दोस्त|सब"
)

ASKING = (
    "what|what's|whats|where|when|why|how|who|whom|whose|which|can|could|should|shall|would|will you|will i|will we|will he|will she"
    "|will it|will they|will the|will there|will this|will that|is|are|am|was|were|do|does|did|has|have|had|may i|may we|isn't|aren't"
    "|don't|doesn't|didn't|any idea|tell me|remind me|do you remember|was|wer|wen|wem|wessen|wo|woher|wohin|wann|warum|wieso|weshalb"
    "|wie|welche|welcher|welches|welchen|welchem|kann|kannst|können|könnte|soll|sollen|sollte|sollten|darf|ist|sind|war|waren|hat|hatte"
    "|habe|haben|hast|gibt es|wird|weißt du|erinnerst du dich|que|quel|quelle|quels|quelles|qui|où|ou est|quand|pourquoi|comment"
    "|combien|est-ce|qu'est-ce|peux-tu|pouvez-vous|dois-je|devrions-nous|qué|cuál|cual|cuáles|quién|quien|quiénes|dónde|donde|cuándo"
    "|cuando|por qué|cómo|cuánto|cuántos|cuánta|puedes|puede|debería|deberíamos|o que|qual|quais|quem|onde|quando|por que|por quê|como"
    "|quanto|quantos|quantas|você sabe|pode|devo|devemos|che|che cosa|cosa|quale|quali|chi|dove|perché|come si|come faccio|come posso"
    "|come è|come funziona|quanto|quanti|quante|puoi|dovrei|dovremmo|что|кто|кого|кому|где|куда|откуда|когда|почему|зачем|как|какой"
    "|какая|какие|какое|каким|сколько|чей|можно|можешь|ли|стоит ли|нужно ли|क्या|कौन|कहाँ|कहां|कब|क्यों|कैसे|कितना|कितने|किस|ما|ماذا|من|أين|اين"
    "|متى|لماذا|كيف|هل|كم|أي"
)
"""What a question begins with where words stand apart."""

ASKING_ANYWHERE = (
    "什么|什麼|甚么|谁|誰|哪里|哪裡|哪儿|哪个|哪個|哪些|哪|何时|什么时候|为什么|為什麼|怎么|怎麼|怎样|如何|多少|几点|几个|吗|嗎|是否"
    "|要不要|该不该|呢|何|なに|なん|どこ|いつ|なぜ|どうして|どう|どの|どれ|どちら|いくつ|いくら|ですか|ますか|でしょうか|ましたか"
    "|べきか|だっけ|かな|무엇|뭐|뭘|누구|누가|어디|언제|왜|어떻게|어떤|어느|몇|얼마|인가요|나요|까요|습니까|니까|อะไร|ใคร|ที่ไหน|เมื่อไหร่"
    "|เมื่อไร|ทำไม|อย่างไร|ยังไง|ไหน|กี่|เท่าไหร่|ไหม|หรือไม่|หรือเปล่า|do you know|do you remember|can you tell|could you tell|weißt du|sais-tu"
    "|te souviens-tu|sabes|recuerdas|você sabe|lembra|sai dirmi|ti ricordi|ты знаешь|помнишь|هل|है क्या"
)
"""What a question has anywhere in it: where words do not stand apart, and where politeness comes first."""

NO_PHRASE_IN_THEM = (
    "error budget*|error margin*|error bar*|margin of error|standard error|trial and error|bug bounty|crash course*|fehlerbudget*"
    "|fehlerquote*|fehlertoleranz*|fehlerkultur*|presupuesto de errores|budget d'erreur|budget d'erreurs"
    "|らかな|やかな|ずかな|静かな|確かな|豊かな|細かな|僅かな|愚かな|密かな|暖かな|温かな|どうも|どうぞ|いつも|いつか|ことは|最近傍|いつのまにか|언제나|오늘날|例外なく"
)
"""Words and terms that have one of the phrases below in them, and mean something else: they are passed over."""

RECENCY: dict[float, str] = {
    1.0: (
        "today|just now|right now|currently|at the moment|now|tonight|this morning|this minute|heute|gerade|gerade eben|jetzt|zurzeit"
        "|derzeit|im moment|aktuell|aujourd'hui|maintenant|en ce moment|actuellement|tout à l'heure|hoy|ahora|ahora mismo|actualmente"
        "|en este momento|hoje|agora|agora mesmo|atualmente|neste momento|oggi|adesso|ora|in questo momento|attualmente|сегодня|сейчас"
        "|только что|в данный момент|прямо сейчас|今天|今日|现在|現在|刚才|剛才|刚刚|目前|今晚|今早|今晨|今朝|今夜"
        "|只今|如今|今|たった今|さっき|現時点|اليوم|الآن"
        "|حاليا|حاليًا|للتو|오늘|지금|방금|현재|วันนี้|ตอนนี้|เมื่อกี้|เดี๋ยวนี้|ปัจจุบัน|आज|अभी|इस समय|फिलहाल"
    ),
    0.8: (
        "yesterday|recently|this week|lately|the other day|latest|gestern|kürzlich|neulich|diese woche|letztens|vor kurzem"
        "|in letzter zeit|hier|récemment|cette semaine|dernièrement|ayer|recientemente|esta semana|últimamente|hace poco|ontem"
        "|recentemente|esta semana|ultimamente|há pouco|ieri|recentemente|di recente|questa settimana|ultimamente|вчера|недавно"
        "|на этой неделе|в последнее время|昨天|昨日|最近|这周|这个星期|本周|本週|這週|近来|きのう|この間|先日|今週|昨今|أمس|البارحة|مؤخرا"
        "|مؤخرًا|هذا الأسبوع|어제|최근|최근에|이번 주|요즘|เมื่อวาน|เมื่อเร็วๆ นี้|เร็ว ๆ นี้|สัปดาห์นี้|ช่วงนี้|कल|हाल ही में|इस हफ्ते|इस सप्ताह"
    ),
    0.5: (
        "last week|last weekend|few days ago|a few days ago|the other week|this month|letzte woche|vor ein paar tagen|diesen monat"
        "|la semaine dernière|il y a quelques jours|ce mois-ci|la semana pasada|hace unos días|este mes|semana passada|há alguns dias"
        "|este mês|la settimana scorsa|settimana scorsa|qualche giorno fa|questo mese|на прошлой неделе|несколько дней назад"
        "|в этом месяце|上周|上週|上个星期|上星期|前几天|几天前|这个月|本月|先週|数日前|今月|الأسبوع الماضي|قبل أيام|هذا الشهر|지난주"
        "|지난 주|며칠 전|이번 달|สัปดาห์ที่แล้ว|อาทิตย์ที่แล้ว|ไม่กี่วันก่อน|เดือนนี้|पिछले हफ्ते|पिछले सप्ताह|कुछ दिन पहले"
    ),
    0.3: (
        "last month|a while ago|some time ago|letzten monat|im letzten monat|vor einer weile|vor einiger zeit|le mois dernier"
        "|il y a un moment|il y a quelque temps|el mes pasado|hace un tiempo|hace tiempo|mês passado|há algum tempo|il mese scorso"
        "|mese scorso|qualche tempo fa|в прошлом месяце|некоторое время назад|давно|上个月|上個月|上月|前阵子|一段时间前|先月"
        "|しばらく前|الشهر الماضي|منذ فترة|지난달|지난 달|얼마 전|เดือนที่แล้ว|สักพักก่อน|पिछले महीने|कुछ समय पहले"
    ),
    0.0: "今年|今後|今后|今回|今度|今更|今一|今にも|今次|今生|今昔|古今|至今|当今|今まで|今日的",
}
"""How much the newest is wanted, 0 to 1 (spec 001). Of two that begin alike the longer is said; 0 is for such as say nothing of it."""

HINTS: dict[Hint, str] = {
    "decision": (
        "decid*|decision*|chose|chosen|choice*|choose|should we|shall we|recommend*|agreed on|settled on|opt for|opted|entscheid*"
        "|entschied*|beschlossen|beschluss*|gewählt|sollen wir|sollten wir|empfehl*|empfiehl*|décid*|décision*|choisi*|choix"
        "|devrions-nous|devons-nous|recommand*|decid*|decisión|decisiones|elegi*|elección|deberíamos|recomend*|decisão|decisões|escolh*"
        "|devemos|deveríamos|decis*|deciso|scelt*|scegli*|dovremmo|consigli*|raccomand*|реш*|выбрал*|выбор*|выбира*|стоит ли нам"
        "|рекоменд*|决定|決定|选择|選擇|选了|選了|选用|应该用|推荐|决策|决议|決め*|選ん*|選択|選ぶ|べきか|すべき|おすすめ|قرار*|قرر*"
        "|اختر*|اختيار*|اخترنا|هل يجب|ننصح|결정*|선택*|골랐*|정했*|추천*|ตัดสินใจ|เลือก|แนะนำ|ควรใช้|फैसल*|निर्णय*|चुन*|तय*|सिफारिश*"
    ),
    "fact": (
        "what is|what's|what are|what was|who is|who's|who are|where is|where does|tell me about|fact|facts|know about|definition*"
        "|which version|was ist|was sind|wer ist|wo ist|wo wohnt|erzähl mir|erzähle mir|fakt|fakten|weißt du über|qu'est-ce que"
        "|c'est quoi|quel est|quelle est|qui est|où est|parle-moi de|dis-moi|définition|qué es|que es|quién es|quien es|cuál es|cual es"
        "|dónde está|háblame de|dime|definición|o que é|quem é|qual é|onde fica|onde está|fale sobre|me conte|definição|che cos'è|cos'è"
        "|cosa è|chi è|qual è|dov'è|dimmi|parlami di|definizione|что такое|кто такой|кто такая|какой у|какая у|где находится|расскажи о"
        "|расскажи про|факт*|определение|是什么|是什麼|什么是|是谁|是誰|在哪里|在哪裡|在哪儿|告诉我|介绍一下|定义|とは|は何|は誰|はどこ"
        "|について教えて|教えて|定義|事実|ما هو|ما هي|من هو|من هي|أين|أخبرني عن|حدثني عن|تعريف|무엇인가|뭐야|뭐예요|무엇인가요|누구야"
        "|누구예요|누구인가요|어디야|어디에|알려줘|알려 줘|정의|คืออะไร|คือใคร|อยู่ที่ไหน|บอกฉันเกี่ยวกับ|เล่าเรื่อง|ข้อเท็จจริง|क्या है|कौन है|कहाँ है"
        "|कहां है|बताओ|बताइए|के बारे में|परिभाषा"
    ),
    "procedure": (
        "how do|how to|how can|how should|how does one|steps|step by step|process|workflow|guide|procedure*|instructions"
        "|walk me through|recipe|wie mache|wie macht|wie kann|wie geht das|wie installier*|wie deploy*|wie stell*|wie richte*|schritte"
        "|schritt für schritt|vorgehen|ablauf|anleitung|verfahren|prozess|comment faire|comment puis-je|comment dois-je|comment on"
        "|comment déployer|étapes|processus|procédure|mode d'emploi|marche à suivre|cómo hago|cómo se|cómo puedo|como hago|como se hace"
        "|cómo despliego|pasos|proceso|procedimiento|guía|instrucciones|como faço|como eu|como posso|como se faz|como fazer|passos"
        "|passo a passo|processo|procedimento|guia|instruções|come faccio|come si fa|come posso|come si|passi|passaggi|procedura"
        "|istruzioni|guida|как сделать|как мне|как можно|как установить|как развернуть|как настроить|шаги|по шагам|процесс|инструкция"
        "|процедура|порядок действий|怎么做|怎么样做|怎么部署|怎么安装|怎么设置|怎么|怎麼|如何|步骤|步驟|流程|教程|指南|どうやって"
        "|どのように|やり方|方法|手順|手続き|仕方|كيف أ*|كيف يمكن|كيف ن*|كيفية|خطوات|طريقة|إجراء*|دليل|어떻게 하|어떻게 해|어떻게 배포"
        "|어떻게 설치|방법|절차|순서|단계|가이드|ทำอย่างไร|ทำยังไง|วิธี|ขั้นตอน|คู่มือ|कैसे करें|कैसे करूँ|कैसे करूं|कैसे|तरीका|चरण|प्रक्रिया"
    ),
    "episode": (
        "last time|when did|history|story|what happened|remember when|previous conversation|last session|talked about|we discussed"
        "|have we discussed|letztes mal|letzten mal|wann haben|wann hat|wann war|geschichte|was ist passiert|was geschah"
        "|worüber haben wir|gesprochen|besprochen|la dernière fois|quand avons|quand a|quand est-ce|histoire|historique"
        "|que s'est-il passé|qu'est-il arrivé|parlé de|discuté|la última vez|cuándo fue|cuándo hicimos|historia|historial|qué pasó"
        "|que pasó|hablamos de|discutimos|a última vez|da última vez|quando foi|quando fizemos|história|histórico|o que aconteceu"
        "|conversamos|discutimos|l'ultima volta|quando abbiamo|quando è|storia|cronologia|cosa è successo|che è successo"
        "|abbiamo parlato|abbiamo discusso|в прошлый раз|когда мы|когда было|история|что случилось|что произошло|говорили|обсуждали"
        "|上次|上一次|什么时候|什麼時候|何时|历史|歷史|发生了什么|發生了什麼|聊过|讨论过|前回|この前|いつ|履歴|経緯|何があった|何が起き"
        "|話した|話しました|المرة الماضية|آخر مرة|متى|تاريخ|ماذا حدث|ماذا حصل|تحدثنا|ناقشنا|지난번|지난 번|언제|역사|이력|무슨 일"
        "|이야기했|얘기했|ครั้งที่แล้ว|คราวที่แล้ว|เมื่อไหร่|เมื่อไร|ประวัติ|เกิดอะไรขึ้น|คุยกัน|पिछली बार|कब|इतिहास|क्या हुआ|बात की"
    ),
}
"""Which kind of memory is asked for (spec 001)."""

FRAMES: dict[str, str] = {
    "debug": (
        "error*|exception*|traceback|stack trace|stacktrace|bug|bugs|debug*|crash*|fails|failing|failed with|fails with|broken"
        "|doesn't work|does not work|not working|isn't working|stopped working|won't start|hangs|segfault|timed out|root cause"
        "|regression|fehler*|absturz|stürzt ab|funktioniert nicht|geht nicht|kaputt|schlägt fehl|erreur*|plante|ne marche pas"
        "|ne fonctionne pas|bogue|en panne|no funciona|falla|fallo|erro|erros|não funciona|falha|travou|errore|errori|non funziona"
        "|si blocca|fallisce|ошибк*|не работает|падает|сломал*|исключени*|сбой|错误|錯誤|报错|报错了|崩溃|崩潰|异常|異常|失败了|不工作"
        "|不能用|出错|故障|エラー|バグ|動かない|動きません|動作しない|落ちる|例外|失敗する|خطأ|لا يعمل|لا تعمل|تعطل|عطل|استثناء|오류"
        "|에러|버그|작동하지|안 돼요|안돼요|안 됩니다|예외|ข้อผิดพลาด|บั๊ก|ไม่ทำงาน|ล่ม|ใช้ไม่ได้|त्रुटि|काम नहीं कर|बग|एरर"
    ),
    "decision": (
        "should we|should i|shall we|shall i|would it be better|is it better|which one should|choose between|decide between"
        "|decide whether|help me decide|help us decide|need to decide|have to decide|pros and cons|trade-off*|tradeoff*|versus|vs"
        "|better option|what do you recommend|do you recommend|sollen wir|sollten wir|soll ich|sollte ich|entscheiden zwischen"
        "|entscheiden ob|vor- und nachteile|was empfiehlst du|wäre es besser|devrions-nous|devons-nous|dois-je|devrais-je|faut-il"
        "|choisir entre|avantages et inconvénients|vaut-il mieux|deberíamos|debería|debemos|elegir entre|decidir entre|pros y contras"
        "|es mejor|devemos|deveríamos|devo|escolher entre|decidir entre|prós e contras|é melhor|dovremmo|dovrei|scegliere tra"
        "|decidere se|pro e contro|è meglio|conviene|стоит ли|следует ли|нам лучше|мне лучше|выбрать между|плюсы и минусы|что лучше"
        "|应该用|我们应该|我應該|我们该|要不要|该不该|是否应该|还是用|利弊|优缺点|哪个更好|すべきか|すべきですか|べきでしょうか"
        "|どちらがいい|どっちがいい|方がいいですか|メリットとデメリット|هل يجب|هل ينبغي|هل علينا|أيهما أفضل|إيجابيات وسلبيات|해야 할까"
        "|할까요|해야 하나|써야 할까|어느 것이 나|장단점|ควรใช้|เราควร|ควรจะ|ข้อดีข้อเสีย|อันไหนดีกว่า|क्या हमें|चाहिए क्या|फायदे और नुकसान"
        "|कौन सा बेहतर"
    ),
    "creative": (
        "brainstorm*|come up with|name ideas|write a story|make up|stell dir vor|denk dir|schreib eine geschichte|écris une histoire"
        "|imagine que|escribe una historia|inventa|imagina que|escreva uma história|immagina|scrivi una storia|придумай*|представь"
        "|сочини|напиши рассказ|写一首|写个故事|写一个故事|头脑风暴|取个名字|編個故事|詩を書いて|物語を書いて|アイデアを出|考えて|تخيل"
        "|اكتب قصة|اكتب قصيدة|시를 써|이야기를 써|상상해|브레인스토밍|แต่งเพลง|แต่งเรื่อง|แต่งกลอน|कविता लिख*|कहानी लिख*|कल्पना करो"
    ),
    "made up": (
        "poem*|haiku|story|tale|song|lyrics|slogan|tagline|jingle|joke|ideas|gedicht|geschichte|märchen|lied|witz|ideen|poème|chanson"
        "|conte|histoire|idées|poema|canción|cuento|historia|ideas|música|conto|história|ideias|poesia|canzone|racconto|storia|idee"
        "|стихотворени*|стих|стихи|песн*|рассказ|сказк*|идеи|诗|詩|故事|歌词|歌詞|创意|物語|歌を|アイデア|قصيدة|قصة|أغنية|أفكار|시를"
        "|노래|이야기|아이디어|กลอน|นิทาน|ไอเดีย|कविता|कहानी|गीत"
    ),
    "task": (
        "please|implement|build|create|write|add|fix|refactor|deploy|install|configure|update|remove|delete|run|generate|convert"
        "|migrate|rename|set up|make|test|translate|summarize|summarise|prepare|schedule|send|book|bitte|implementier*|baue|erstelle"
        "|schreib|schreibe|füge|behebe|installiere|konfiguriere|aktualisiere|lösche|führe|übersetze|fasse|richte|s'il te plaît"
        "|s'il vous plaît|implémente|construis|crée|écris|ajoute|corrige|déploie|installe|configure|supprime|traduis|résume|por favor"
        "|implementa|construye|crea|escribe|añade|arregla|despliega|instala|configura|actualiza|elimina|traduce|resume|implemente"
        "|construa|crie|escreva|adicione|corrija|implante|instale|atualize|remova|traduza|per favore|costruisci|scrivi|aggiungi"
        "|correggi|distribuisci|installa|aggiorna|rimuovi|traduci|riassumi|пожалуйста|реализуй|создай|напиши|добавь|исправь|разверни"
        "|установи|настрой|обнови|удали|переведи|сделай|запусти|请|請|帮我|幫我|实现|创建|編寫|编写|添加|修复|部署|安装|配置|更新|删除"
        "|翻译|总结|写一个|してください|してほしい|作成|実装|追加して|修正して|書いて|翻訳して|インストール|من فضلك|رجاء|نفذ|أنشئ|اكتب"
        "|أضف|أصلح|انشر|ثبت|احذف|ترجم|لخص|해줘|해 줘|해주세요|해 주세요|만들어|구현|작성|추가해|수정해|설치해|배포해|번역|กรุณา|ช่วย|สร้าง"
        "|เขียน|เพิ่ม|แก้ไข|ติดตั้ง|ลบ|แปล|कृपया|बनाओ|बनाइए|लिखो|लिखिए|जोड़*|ठीक करो|अनुवाद|हटाओ"
    ),
}
"""Which kind of work a turn begins. A task's words count at the beginning of a sentence, or with politeness; a task to make what is made
up is creative."""

NEVER_A_TASK_ALONE = frozenset({"test", "update", "book", "run", "make", "resume", "configure", "corrige"})
"""Nouns as well: `run` and `book` begin a task unless the part asks something."""
