// Algorithms with their words told apart, and the place of a complaint underlined.

{{keywords}}

/** The pieces of a text, each with its kind. */
function pieces(text) {
  const found = text.match(/\/\/.*|@\w+|[A-Za-z_]\w*|\d+|\s+|[^\sA-Za-z_\d/@]+|./g) ?? [];
  return found.map((piece) => {
    if (piece.startsWith("//")) return ["comment", piece];
    if (/^@\w/.test(piece)) return ["note", piece];
    if (KEYWORDS.test(piece)) return ["keyword", piece];
    if (/^[A-Z]/.test(piece) || /^(?:int|bool|value|key|tid)$/.test(piece)) return ["type", piece];
    return [/^\d/.test(piece) ? "number" : "", piece];
  });
}

/** The text as elements; `place` is underlined. */
function highlighted(text, place) {
  const nodes = [];
  let at = 0;
  for (const [kind, piece] of pieces(text)) {
    const cuts = [0, ...(place ? [place.start - at, Math.max(place.end, place.start + 1) - at] : []), piece.length];
    const within = cuts.filter((cut) => cut >= 0 && cut <= piece.length).sort((a, b) => a - b);
    for (let i = 1; i < within.length; i++) {
      const part = piece.slice(within[i - 1], within[i]);
      if (!part) continue;
      const start = at + within[i - 1];
      const isWrong = place && start >= place.start && start < Math.max(place.end, place.start + 1);
      const classes = [kind, isWrong ? "wrong" : ""].filter(Boolean).join(" ");
      nodes.push(classes ? make("span", { class: classes }, part) : part);
    }
    at += piece.length;
  }
  return nodes;
}
