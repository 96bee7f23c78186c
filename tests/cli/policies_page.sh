#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# policies_page.sh - the page of `weft bench --policies', in a browser: nothing
# scrolls sideways, every chart can be seen, every row has its bar, no label
# leaves its chart or lies on another, the page asks nothing of the network.
#
# usage: policies_page.sh path-of-weft
#        policies_page.sh --page FILE	only look at a page that is there
#
# A copy of the page gets a script that looks at the drawn page and writes its
# findings into the document, which the browser prints.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

browser=
for name in chromium chromium-browser google-chrome; do
	browser=$(command -v "$name") && break
done
if [[ -z $browser ]]; then
	echo 'there is no chromium here; tools/setup all installs it'
	exit 1
fi

page=$work/page.html
if [[ $1 == --page ]]; then
	cp "$2" "$page" || exit 1
else
	"$1" bench --policies --rounds 1 --scale 0.01 --page "$page" \
		>"$work/text" || exit 1
fi

cat >"$work/look.html" <<'END'
<script>
addEventListener("load", () => {
	const said = [];
	const say = (...words) => said.push(words.join(" "));
	const box = e => e.getBoundingClientRect();
	const root = document.documentElement;
	const charts = [...document.querySelectorAll("svg.chart")];

	document.querySelectorAll("details").forEach(d => d.open = true);
	say("width", innerWidth);
	if (root.scrollWidth > innerWidth || document.body.scrollWidth > innerWidth)
		say("WRONG: it scrolls sideways:", root.scrollWidth, "of", innerWidth);
	say("charts", charts.length);
	for (const c of charts) {
		const name = c.getAttribute("aria-label");
		const b = box(c), style = getComputedStyle(c);
		const rows = [...c.querySelectorAll("g.row")];
		const texts = [...c.querySelectorAll("text")];
		const labels = [...c.querySelectorAll("text.name, text.figures, text.heading")];

		if (b.width < 200 || b.height < 100 ||
		    style.display == "none" || style.visibility != "visible")
			say("WRONG: not to be seen:", name);
		if (b.left < 0 || b.right > innerWidth + .5)
			say("WRONG: outside of the window:", name);
		say("rows", rows.length);
		for (const r of rows) {
			const which = r.querySelector("text.name")?.textContent;
			for (const kind of ["wall", "cpu"]) {
				const bars = [...r.querySelectorAll("rect." + kind)];
				if (bars.length != 1 || box(bars[0]).width <= 0 || box(bars[0]).height <= 0)
					say("WRONG: no", kind, "bar:", name, which);
				else if (box(bars[0]).right > b.right + .5)
					say("WRONG: bar outside:", name, which);
			}
		}
		for (const t of texts) {
			const tb = box(t);
			if (tb.width <= 0 || tb.left < b.left - .5 || tb.right > b.right + .5 ||
			    tb.top < b.top - .5 || tb.bottom > b.bottom + .5)
				say("WRONG: label outside:", name, t.textContent);
			if (parseFloat(getComputedStyle(t).fontSize) < 10)
				say("WRONG: too small to read:", name, t.textContent);
		}
		labels.forEach((t, i) => labels.slice(i + 1).forEach(u => {
			const p = box(t), q = box(u);
			const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
			const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
			if (wide > 0 && high > 3)
				say("WRONG: one on the other:", t.textContent, "and", u.textContent);
		}));
		const ticks = [...c.querySelectorAll("text.tick")].map(box);
		ticks.slice(1).forEach((t, i) => {
			if (t.left < ticks[i].right + 2)
				say("WRONG: ticks run together:", name);
		});
	}
	for (const e of document.querySelectorAll("h1, h2, h3, p, li, dt, dd, summary, .scroll"))
		if (box(e).right > innerWidth + .5 || box(e).left < 0)
			say("WRONG: text leaves the window:", e.textContent.slice(0, 40));
	const asked = performance.getEntriesByType("resource");
	if (asked.length > 0)
		say("WRONG: it asked for", asked.map(a => a.name).join(" "));
	const light = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	say("scheme", light, "paper", getComputedStyle(document.body).backgroundColor);
	const out = document.createElement("pre");
	out.id = "said";
	out.textContent = "SAID\n" + said.join("\n") + "\nEND\n";
	document.body.append(out);
});
</script>
END

# The browser has no network: the proxy is a closed port.
look() {
	local file=$1 width=$2

	timeout 60 "$browser" --headless --no-sandbox --disable-gpu \
		--no-first-run --user-data-dir="$work/profile" \
		--proxy-server=127.0.0.1:9 --hide-scrollbars "${@:3}" \
		--window-size="$width,2000" --virtual-time-budget=5000 \
		--dump-dom "file://$file" 2>"$work/noise" |
		sed -n '/SAID$/,/^END/p' | sed '1d;$d'
}

# wrong WORD...: report a fault.
wrong() {
	echo "$*"
	failed=1
}

# The page must not name a file to fetch, nor hold a script.
if grep -qiE '<script|<link|<img|<iframe|@import|url\(|(src|href) *=' "$page"; then
	wrong 'the page refers to something outside, or has a script:'
	grep -niE '<script|<link|<img|<iframe|@import|url\(|(src|href) *=' "$page" |
		cut -c 1-120 | head -5
fi

copy=$work/copy.html
{
	sed '/<\/body>/,$d' "$page"
	cat "$work/look.html"
	printf '</body>\n</html>\n'
} >"$copy"

# A headless window is at least 500 wide, so the narrow one is a frame.
narrow=$work/narrow.html
cat >"$narrow" <<END
<!DOCTYPE html><body style="margin:0"><iframe id="f" src="copy.html"
 style="width:390px;height:2000px;border:0"></iframe><script>
addEventListener("load", () => setTimeout(() => {
	const d = document.getElementById("f").contentDocument;
	const out = document.createElement("pre");
	out.textContent = d.getElementById("said").textContent;
	document.body.append(out);
}, 100));
</script></body>
END

for width in 390 1280; do
	file=$copy
	flags=()
	if [[ $width == 390 ]]; then
		file=$narrow
		flags=(--allow-file-access-from-files)
	fi
	said=$(look "$file" "$width" "${flags[@]}")
	grep -qx "width $width" <<<"$said" ||
		wrong "at $width: the browser saw nothing, or another width:" \
			"$(head -3 <<<"$said") $(tail -3 "$work/noise")"
	if grep -q WRONG <<<"$said"; then
		wrong "at $width:"
		grep WRONG <<<"$said" | head -20
	fi
	grep -qx 'charts 7' <<<"$said" || [[ $1 == --page ]] ||
		wrong "at $width: not seven charts: $(grep charts <<<"$said")"
	# As many rows in each as there are policies in the text.
	if [[ $1 != --page ]]; then
		rows=$(sed -n '/^single-spawner,/,/^$/p' "$work/text" | grep -c '^  [a-z]')
		[[ $(grep -cx "rows $rows" <<<"$said") == 7 && $rows -gt 20 ]] ||
			wrong "at $width: not $rows rows in each chart:" \
				"$(grep rows <<<"$said" | tr '\n' ' ')"
	fi
done

# The page follows the browser's light or dark scheme.
light=$(look "$copy" 1280 | grep '^scheme')
dark=$(look "$copy" 1280 --blink-settings=preferredColorScheme=0 | grep '^scheme')
[[ $light == 'scheme light '* && $dark == 'scheme dark '* &&
	${light##*paper} != "${dark##*paper}" ]] ||
	wrong "light and dark are: '$light' and '$dark'"

[[ $failed == 0 ]] && echo 'the page is good at 390 and 1280, light and dark'
exit $failed
