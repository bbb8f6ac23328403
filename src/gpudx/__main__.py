"""python -m gpudx"""

from gpudx.cli import main

main()
