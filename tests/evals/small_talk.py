"""Sixty conversations of one turn that nobody needs to remember: greetings, thanks and small talk in ten languages."""

from typing import NamedTuple


class Exchange(NamedTuple):
    """What was said, and what was answered."""

    language: str
    said: str
    answered: str


SMALL_TALK = [
    Exchange("English", "Hello", "Hi! How can I help?"),
    Exchange("English", "What can you do?", "I can answer questions, write and plan. What do you need?"),
    Exchange("English", "good morning 🙂", "Good morning! I hope you slept well."),
    Exchange("English", "thanks, that's all", "You're welcome. Have a nice day!"),
    Exchange("English", "are you there?", "Yes, I'm here."),
    Exchange("English", "lol ok", "😄"),
    Exchange("German", "Hallo!", "Hallo! Womit kann ich helfen?"),
    Exchange("German", "Wie geht's dir heute?", "Danke, gut! Und dir?"),
    Exchange("German", "Moin", "Moin! Was gibt's?"),
    Exchange("German", "Alles klar, danke dir.", "Gern geschehen!"),
    Exchange("German", "Schönes Wetter heute, oder?", "Das klingt nach einem guten Tag für einen Spaziergang."),
    Exchange("German", "Bist du ein Mensch?", "Nein, ich bin ein Programm."),
    Exchange("French", "Bonjour", "Bonjour ! Comment puis-je vous aider ?"),
    Exchange("French", "Salut, ça va ?", "Très bien, merci, et toi ?"),
    Exchange("French", "Merci beaucoup !", "Avec plaisir."),
    Exchange("French", "Tu es là ?", "Oui, je suis là."),
    Exchange("French", "Bonne nuit", "Bonne nuit, à demain !"),
    Exchange("French", "Que sais-tu faire ?", "Répondre, écrire, résumer. De quoi as-tu besoin ?"),
    Exchange("Spanish", "¡Hola!", "¡Hola! ¿En qué te ayudo?"),
    Exchange("Spanish", "¿Qué tal?", "Muy bien, ¿y tú?"),
    Exchange("Spanish", "Gracias, hasta luego", "¡Hasta luego!"),
    Exchange("Spanish", "Buenas noches", "Buenas noches, que descanses."),
    Exchange("Spanish", "jajaja qué bueno", "¡Me alegro!"),
    Exchange("Spanish", "prueba 1 2 3", "Te leo perfectamente."),
    Exchange("Portuguese", "Oi, tudo bem?", "Tudo ótimo! E com você?"),
    Exchange("Portuguese", "Bom dia", "Bom dia! Em que posso ajudar?"),
    Exchange("Portuguese", "Valeu!", "De nada!"),
    Exchange("Portuguese", "Quem é você?", "Sou um assistente."),
    Exchange("Portuguese", "Feliz ano novo!", "Feliz ano novo para você também!"),
    Exchange("Portuguese", "Até amanhã", "Até amanhã!"),
    Exchange("Russian", "Привет", "Привет! Чем помочь?"),
    Exchange("Russian", "Как дела?", "Хорошо, спасибо! А у вас?"),
    Exchange("Russian", "Спасибо, пока", "До свидания!"),
    Exchange("Russian", "Ты тут?", "Да, я здесь."),
    Exchange("Russian", "Доброе утро!", "Доброе утро!"),
    Exchange("Russian", "Что ты умеешь?", "Отвечать на вопросы и писать тексты."),
    Exchange("Arabic", "السلام عليكم", "وعليكم السلام! كيف أساعدك؟"),
    Exchange("Arabic", "كيف حالك؟", "بخير، شكرا! وأنت؟"),
    Exchange("Arabic", "شكرا جزيلا", "على الرحب والسعة."),
    Exchange("Arabic", "صباح الخير", "صباح النور!"),
    Exchange("Arabic", "من أنت؟", "أنا مساعد."),
    Exchange("Arabic", "تصبح على خير", "وأنت من أهله."),
    Exchange("Hindi", "नमस्ते", "नमस्ते! मैं कैसे मदद करूँ?"),
    Exchange("Hindi", "आप कैसे हैं?", "मैं ठीक हूँ, और आप?"),
    Exchange("Hindi", "धन्यवाद", "आपका स्वागत है।"),
    Exchange("Hindi", "शुभ रात्रि", "शुभ रात्रि!"),
    Exchange("Hindi", "क्या चल रहा है?", "सब बढ़िया! आप बताइए।"),
    Exchange("Hindi", "ठीक है, फिर मिलते हैं", "ज़रूर, फिर मिलेंगे!"),
    Exchange("Chinese", "你好", "你好！有什么可以帮你？"),
    Exchange("Chinese", "在吗？", "在的。"),
    Exchange("Chinese", "谢谢", "不客气！"),
    Exchange("Chinese", "早上好", "早上好！"),
    Exchange("Chinese", "今天天气真好", "是啊，适合出去走走。"),
    Exchange("Chinese", "哈哈哈", "😄"),
    Exchange("Japanese", "こんにちは", "こんにちは!ご用件は何でしょうか。"),
    Exchange("Japanese", "元気ですか?", "はい、おかげさまで。"),
    Exchange("Japanese", "ありがとう", "どういたしまして。"),
    Exchange("Japanese", "おやすみなさい", "おやすみなさい。"),
    Exchange("Japanese", "何ができますか?", "質問に答えたり、文章を書いたりできます。"),
    Exchange("Japanese", "テスト", "届いています。"),
]
