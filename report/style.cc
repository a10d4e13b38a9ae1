#include "report/style.h"

namespace sailor::report {

namespace {

constexpr std::string_view kStyleSheet = R"css(
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1a1a1a; --soft: #5c5c5c; --line: #d4d4d4; --panel: #f5f6f8; --link: #00588a;
  --blue: #0072b2; --orange: #e69f00; --green: #009e73; --purple: #cc79a7; --sky: #56b4e9; --red: #d55e00; --grey: #9a9a9a; }
@media screen and (prefers-color-scheme: dark) { :root {
  --paper: #16181c; --ink: #e8e8e8; --soft: #a8a8a8; --line: #3c4048; --panel: #1f2228; --link: #7cc7f0;
  --blue: #3d9bd6; --orange: #eeb33a; --green: #25b98e; --purple: #d991b8; --sky: #7cc7f0; --red: #f0803c; --grey: #80858c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 66rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
p, ul { margin: .4rem 0 .6rem; max-width: 60rem; overflow-wrap: anywhere; }
ul { padding-left: 1.3rem; }
.soft { color: var(--soft); }
.small { font-size: .88rem; }
.verdict { display: inline-block; padding: .1rem .6rem; border-radius: .3rem; font-weight: 600; border: 2px solid var(--green); }
.verdict.bad { border-color: var(--red); }
.verdict.neutral { border-color: var(--grey); } .verdict.changing { border-color: var(--orange); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: .8rem 0; padding: 0; }
.fact { background: var(--panel); border-radius: .4rem; padding: .5rem .7rem; }
.fact dt { color: var(--soft); font-size: .82rem; }
.fact dd { margin: 0; font-size: 1.15rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.fact dd.note { font-size: .82rem; font-weight: 400; color: var(--soft); }
figure { margin: .5rem 0 1rem; }
figcaption { color: var(--soft); font-size: .88rem; margin-bottom: .3rem; max-width: 60rem; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 44rem; height: auto; font: 12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
svg.fluid { min-width: 0; }
svg text { fill: var(--ink); }
svg .soft { fill: var(--soft); }
svg .on { fill: #ffffff; font-size: 10px; }
svg .on-light { fill: #1a1a1a; font-size: 10px; }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .strong { font-weight: 600; }
svg .outlined { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--line); stroke-width: 1; }
.lane { fill: var(--panel); }
.blue { fill: var(--blue); } .orange { fill: var(--orange); } .green { fill: var(--green); }
.purple { fill: var(--purple); } .sky { fill: var(--sky); } .red { fill: var(--red); } .grey { fill: var(--grey); }
.curve { fill: none; stroke-width: 2; } .curve.blue { stroke: var(--blue); } .curve.orange { stroke: var(--orange); }
.curve.purple { stroke: var(--purple); } .curve.red { stroke: var(--red); } .curve.grey { stroke: var(--grey); }
.cut { stroke: var(--paper); stroke-width: .6; }
.message { stroke: var(--soft); stroke-width: .7; opacity: .6; fill: none; }
.limit { stroke: var(--red); stroke-width: 2; }
.limit.dashed { stroke-dasharray: 5 4; }
.zone { fill: var(--panel); stroke: var(--blue); stroke-width: 2; }
.free-link { stroke: var(--sky); fill: none; } .paid-link { stroke: var(--orange); fill: none; }
.open { fill: none; }
.halo { fill: none; stroke: var(--ink); stroke-width: 2; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; padding: 0; margin: .2rem 0; font-size: .88rem; }
.legend svg { display: inline-block; width: 14px; min-width: 14px; height: 12px; margin-right: .35rem; vertical-align: -1px; }
table { border-collapse: collapse; width: 100%; min-width: 40rem; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: left; padding: .22rem .7rem .22rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
th.number, td.number { text-align: right; white-space: nowrap; }
tr.total td { font-weight: 600; border-bottom: 0; }
tr.chosen td { background: var(--panel); font-weight: 600; }
.chip { border-left: .35rem solid var(--grey); background: var(--panel); border-radius: .25rem; padding: .1rem .5rem; margin: .1rem 0; min-width: 9rem; }
.chip.blue { border-color: var(--blue); } .chip.orange { border-color: var(--orange); } .chip.green { border-color: var(--green); }
.chip.purple { border-color: var(--purple); } .chip.sky { border-color: var(--sky); } .chip.red { border-color: var(--red); }
a { color: var(--link); }
code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
footer { margin-top: 2rem; color: var(--soft); font-size: .85rem; }
@media print { html { font-size: 11px; } body { max-width: none; padding: 0; font-size: 1rem; } figure, table { break-inside: avoid; }
  h2 { break-after: avoid; } .wide { overflow: visible; } svg, table { min-width: 0; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)css";

}  // namespace

std::string_view style_sheet() { return kStyleSheet; }

}  // namespace sailor::report
