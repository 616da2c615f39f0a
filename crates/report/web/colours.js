// Colours of the canvas, for both themes. Meaning is never carried by colour alone.

const HUES = [212, 32, 152, 282, 350, 186, 52, 240, 110, 318];

/** The colours of the present theme. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  const isDark = document.documentElement.dataset.theme === "dark";
  return {
    paper: get("--paper"),
    raised: get("--raised"),
    line: get("--line"),
    ink: get("--ink"),
    soft: get("--soft"),
    bad: get("--bad"),
    badWash: get("--bad-wash"),
    accent: get("--accent"),
    accentWash: get("--accent-wash"),
    zebra: get("--zebra"),
    mono: get("--mono"),
    sans: get("--sans"),
    fill: (index) => `hsl(${HUES[index % HUES.length]} ${isDark ? "34% 27%" : "72% 90%"})`,
    edge: (index) => `hsl(${HUES[index % HUES.length]} ${isDark ? "45% 58%" : "50% 52%"})`,
  };
}

/** A colour of the palette, wholly transparent. */
function withoutInk(colour) {
  return colour.startsWith("#") ? `${colour}00` : colour.replace(")", " / 0)");
}

/** The colour of a group of annotations. */
function groupColour(annotation, index) {
  return annotation.colour ?? `hsl(${HUES[(index + 4) % HUES.length]} 45% 55%)`;
}
