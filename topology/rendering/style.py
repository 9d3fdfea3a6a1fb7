"""The colours and fonts of a diagram; the second set of colours is for dark surroundings."""

STYLE = """
:root{--paper:#fbfbfa;--ink:#1d2430;--soft:#5c6675;--line:#8b95a5;--face:#fff;--rim:#cfd5de;--band:#f1f3f6;
--band-rim:#e0e4ea;--event:#3f7cc4;--fact:#3d9a6c;--source:#6d8bb0;--operator:#7b68b8;--define:#d9822b;
--rule:#c8455b;--context:#ece8f8;--context-ink:#533f99;--horizon:#e3f1ec;--horizon-ink:#1f6b4d;
--shared:#fdf0d9;--shared-ink:#8a5a0c;--note:#edf0f4;--note-ink:#4d5765;--route:#f6f1e7;--global:#f0eff8}
@media (prefers-color-scheme:dark){:root{--paper:#14171c;--ink:#e8ebf0;--soft:#9aa4b2;--line:#6f7a8a;
--face:#21262e;--rim:#3a424e;--band:#1a1e24;--band-rim:#2a3039;--event:#6aa5e8;--fact:#5fc08f;--source:#7f9cc0;
--operator:#a393e0;--define:#f0a050;--rule:#ee7084;--context:#322c4d;--context-ink:#c6b9fa;--horizon:#1d3a30;
--horizon-ink:#8fdab9;--shared:#43351b;--shared-ink:#f2c678;--note:#2c323b;--note-ink:#b9c2ce;--route:#221f19;
--global:#1e1d29}}
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--ink)}
.paper{fill:var(--paper)}
.heading{font-size:19px;font-weight:650}
.subheading{font-size:12px;fill:var(--soft)}
.area{fill:var(--band);stroke:var(--band-rim)}
.band.route .area{fill:var(--route)}
.band.global .area{fill:var(--global)}
.band-name{font-size:13px;font-weight:650}
.band-rest{font-size:11.5px;fill:var(--soft)}
.link{fill:none;stroke:var(--line);stroke-width:1.4}
.link.over-topic{stroke-dasharray:5 4}
.link.back{stroke-dasharray:2 3}
.tip{fill:var(--line)}
.label{font-size:10px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
fill:var(--soft);text-anchor:end;paint-order:stroke;stroke:var(--band);stroke-width:4px;stroke-linejoin:round}
.label.leaving{text-anchor:start}
.face,.behind{fill:var(--face);stroke:var(--rim)}
.event{--own:var(--event)}.fact{--own:var(--fact)}.source{--own:var(--source)}
.operator{--own:var(--operator)}.define{--own:var(--define)}.rule{--own:var(--rule)}
.edge{fill:var(--own)}
.shared>.face,.shared>.behind{stroke:var(--own)}
.tag{font-size:9.5px;font-weight:600;letter-spacing:.07em;fill:var(--own)}
.title{font-size:14px;font-weight:600}
.line{font-size:11px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
fill:var(--soft);white-space:pre}
.word{font-size:10px;font-weight:500;text-anchor:middle}
.context .pill{fill:var(--context)}.context .word{fill:var(--context-ink)}
.horizon .pill{fill:var(--horizon)}.horizon .word{fill:var(--horizon-ink)}
.chip.shared .pill{fill:var(--shared)}.chip.shared .word{fill:var(--shared-ink)}
.note .pill{fill:var(--note)}.note .word{fill:var(--note-ink)}
"""
