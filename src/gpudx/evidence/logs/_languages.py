"""Words of failure in the languages of bug reports: people translate what a program printed, and keep names and numbers."""

# "returned", "error", "failed": Chinese, Japanese, Korean, Spanish, Portuguese, French, German, Italian, Russian.
FAILS = (
    "返回|错误|錯誤|失败|失敗|报错|出错|戻り値|エラー|반환|리턴|오류|에러|실패|devolvi[óo]|devuelve|retorn[óoa]|fall[óo]|falla|erro(?:r|re)?\\b"
    "|renvo[iy]\\w*|retourn\\w*|échou\\w*|erreur|liefert\\w*|gab\\b|c[óo]digo|fehler\\w*|fehlgeschlagen|ошибк\\w*|вернул\\w*|falhou|fallit\\w*"
)
# What stands before a command in a report.
RUNS = (
    "재현|실행|명령|命令|运行|執行|执行|复现|コマンド|実行|再現"
    "|[Cc]omando|[Ee]jecut\\w*|[Ll]anc\\w+|[Aa]usgeführt|[Bb]efehl|[Rr]un(?:ning)?|[Rr]eproduce\\w*"
)
