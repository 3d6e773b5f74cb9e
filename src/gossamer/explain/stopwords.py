"""Words that name nothing. Those of other languages drop out by themselves: what is frequent everywhere scores low."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = """
a about above across actually after again against ago all almost alone along already also although always am among an
and another any anybody anyone anything anyway are aren't around as ask asked asking at away back be became because
become becomes been before behind being below between both but by came can can't cannot come comes could couldn't did
didn't do does doesn't doing don't done down during each either else enough especially etc even ever every everybody
everyone everything exactly far few for from further gave get gets getting give given gives go goes going gone gonna
got had hadn't happen happened happens has hasn't have haven't having he he'd he'll her here hers herself him himself
his how however i i'd i'll i'm i've if in indeed instead into is isn't it it's its itself just keep kind know knows
known later least less let let's like likely ll lot lots made make makes making many may maybe me mean means might mine
more most mostly much must my myself near need needs neither never next no nobody none nor not nothing now of off often
ok okay on once one ones only onto or other others otherwise our ours ourselves out over own perhaps please possible
probably put quite rather re really regarding said same saw say saying says see seem seems seen several shall she she'd
should shouldn't since so some somebody someone something sometimes somewhat soon still such sure take takes taken
taking tell than thank thanks that that's the their theirs them themselves then there there's therefore these they
they'd they'll they're they've thing things think this those though through thus to together too took toward towards
tried try trying under unless until up upon us use used uses using usually ve very via want wanted wants was wasn't way
ways we we'd we'll we're we've well went were weren't what what's whatever when whenever where whether which while who
who's whoever whole whom whose why will with within without won't would wouldn't write writes writing wrote yes yet you
you'd you'll you're you've your yours yourself yourselves
"""

_OTHERS: Final = """
der die das den dem des ein eine einen einem einer und oder aber ist sind war nicht mit von vom zu zum zur im auf für
auch als wie bei nach aus dass sich wird werden hat haben es sie er wir ihr man kann noch nur wenn durch über um so
le la les un une des du de et ou mais est sont dans sur pour par avec pas que qui ce cette ces il elle on nous vous ne
se sa son ses plus au aux comme être avoir fait
el los las una unos unas y o pero es son en con por para del al que como más su sus se lo no sin sobre este esta
il lo gli uno di da del della dei delle che non si è sono per con su come più anche nel nella ma questo questa
um uma os as dos das do da em no na por para com não mais seu sua ao
het een van en of maar niet met voor op aan zijn was bij ook als dat dit naar om uit
"""

STOP: Final = frozenset(_ENGLISH.split()) | frozenset(_OTHERS.split())
"""Stop words, in lower case."""
