"""Whether what was recorded as a decision reads like a status report. It warns and never blocks: a decision in few words is one too.

    description ──words──▶ none ──────────────────────────────────────────▶ it says nothing
                           without reasons, under MIN_LETTERS ────────────▶ too short to name a choice
                           without reasons, most words tell of progress ──▶ a status report
                           anything else ─────────────────────────────────▶ no noise

The rule, its numbers and its ten words are the spec's (000, C2); the words stand here in twelve languages, in the forms a report has them.
"Twenty characters" is a measure of Latin letters: see `letters`. Where words do not stand apart, the words of the list are cut out of a
run and what is left counts as words of LETTERS_PER_WORD.
"""

import re
from collections.abc import Iterator, Sequence
from math import ceil

from nous.text import UNSPACED, WORD, fold_case, form, is_blank

MIN_LETTERS = 20
NOISE_SHARE = 0.5
LETTERS_PER_WORD = 6
"""An English word and the space behind it."""

# How many Latin letters one character is worth. Translated into Chinese, a text has a third to a quarter as many characters, into Japanese
# or Korean half as many (Article 1 of the Universal Declaration of Human Rights, against which tests/nous/test_noise.py holds them).
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SYLLABLE = re.compile("[\u3040-\u312f\u31a0-\u31ff\uac00-\ud7a3]")  # kana, bopomofo, Hangul
_LETTERS_PER_HAN = 3
_LETTERS_PER_SYLLABLE = 2


def _listed(words: str) -> frozenset[str]:
    return frozenset(form(words).split())


WORDS = _listed(
    """
    completed complete completing completion done finished finish finishing success successes successful successfully
    succeeded started start starting status progress progressing update updated updates updating checked check checking
    confirmed confirm confirming

    abgeschlossen erledigt fertig fertiggestellt beendet erfolg erfolge erfolgreich gestartet begonnen angefangen status
    fortschritt fortschritte aktualisiert aktualisierung geprüft überprüft bestätigt

    terminé terminée terminés terminées fini finie finis finies achevé achevée fait faite faits faites succès réussi réussie
    démarré démarrée commencé commencée lancé lancée statut avancement progrès progression actualisé actualisée vérifié
    vérifiée vérifiés confirmé confirmée

    completado completada completados completadas hecho hecha hechos terminado terminada finalizado finalizada acabado listo
    éxito exitoso exitosa exitosamente iniciado iniciada comenzado comenzada empezado estado avance progreso actualización
    actualizado actualizada actualizados comprobado comprobada revisado revisada verificado verificada confirmado confirmada

    concluído concluída concluídos feito feita feitos pronto pronta terminado terminada finalizado finalizada sucesso iniciado
    iniciada começado status estado andamento progresso atualização atualizado atualizada verificado verificada conferido
    conferida confirmado confirmada

    завершено завершён завершен завершена завершены готово готов готова сделано сделан сделана закончено закончен закончена
    успех успешно успешный успешная начато начат начата запущено запущен запущена статус прогресс обновление обновлено
    обновлён обновлен обновлена обновлены проверено проверен проверена подтверждено подтверждён подтвержден подтверждена

    تم تمت مكتمل مكتملة اكتمل اكتملت انتهى انتهت الانتهاء جاهز جاهزة نجاح بنجاح نجح نجحت بدأ بدأت بدء حالة الحالة تقدم التقدم
    تحديث التحديث فحص الفحص تأكيد التأكيد مؤكد

    पूरा पूरी पूरे पूर्ण समाप्त हो गया गई गए सफल सफलता सफलतापूर्वक शुरू आरंभ स्थिति प्रगति अपडेट अद्यतन जाँच जांच जाँचा पुष्टि

    已完成 完成了 完成 完毕 完畢 已结束 已結束 结束 結束 成功 已开始 已開始 开始 開始 状态 狀態 进度 進度 进展 進展 已更新
    更新了 更新 已检查 已檢查 检查 檢查 已确认 已確認 确认 確認

    完了しました 完了 終了しました 終了 済み 成功しました 成功 開始しました 開始 状況 状態 ステータス 進捗 更新しました 更新
    アップデート 確認しました 確認済み 確認 チェック

    완료 완료됨 완료했습니다 완료되었습니다 완료됐습니다 끝 끝났습니다 성공 성공적으로 성공했습니다 시작 시작됨 시작했습니다
    상태 진행 진행중 진행률 업데이트 업데이트됨 업데이트했습니다 갱신 갱신했습니다 확인 확인됨 확인했습니다 점검 점검했습니다

    เสร็จแล้ว เสร็จสิ้น เสร็จ สำเร็จแล้ว สำเร็จ เริ่มแล้ว เริ่ม สถานะ ความคืบหน้า อัปเดตแล้ว อัปเดต ตรวจสอบแล้ว ตรวจสอบ
    ยืนยันแล้ว ยืนยัน
    """
)
"""What a report of progress is made of: completed, done, finished, success, started, status, progress, update, checked, confirmed. In
English, German, French, Spanish, Portuguese, Russian, Arabic, Hindi, Chinese, Japanese, Korean and Thai, all of them for every text."""

_RUN = re.compile(f"({UNSPACED.pattern}+)")
_CHUNK = re.compile(rf"{WORD.pattern}|\d+")
_INSIDE = re.compile(f"({'|'.join(sorted((word for word in WORDS if UNSPACED.match(word)), key=len, reverse=True))})")


def why_noise(description: str, reasons: Sequence[str] = ()) -> str | None:
    """Why this looks like no decision; None when it may well be one."""
    words = set(words_of(description))
    if not words:
        return "it says nothing"
    if not all(map(is_blank, reasons)):
        return None
    length = letters(description)
    if length < MIN_LETTERS:
        return f"it is worth {length} letters, under {MIN_LETTERS}, and no reason is given"
    telling = words & WORDS
    if len(telling) / len(words) > NOISE_SHARE:
        return f"{len(telling)} of its {len(words)} words tell of progress ({', '.join(sorted(telling))}), and no reason is given"
    return None


def letters(said: str) -> int:
    """How long it is, in Latin letters: a Han character is worth three, a kana or Hangul syllable two, any other character one."""
    said = form(said).strip()
    han, syllables = len(_HAN.findall(said)), len(_SYLLABLE.findall(said))
    return len(said) + han * (_LETTERS_PER_HAN - 1) + syllables * (_LETTERS_PER_SYLLABLE - 1)


def words_of(said: str) -> Iterator[str]:
    """Its words without punctuation, case folded, in any script; numbers are words."""
    for chunk in _CHUNK.findall(_RUN.sub(r" \1 ", form(said))):
        if UNSPACED.match(chunk):
            yield from _cut(chunk)
        else:
            yield fold_case(chunk)


def _cut(run: str) -> Iterator[str]:
    """A run of a script that does not space its words: the words of the list, and what is between them in pieces as long as words are."""
    for piece in _INSIDE.split(run):
        if piece in WORDS:
            yield piece
        elif piece:
            size = ceil(len(piece) / max(1, round(letters(piece) / LETTERS_PER_WORD)))
            yield from (piece[start : start + size] for start in range(0, len(piece), size))
