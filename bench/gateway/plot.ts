export interface Series {
  name: string;
  points: { x: number; y: number }[];
}

export interface Plot {
  title: string;
  x: { label: string; isLogarithmic?: boolean };
  y: { label: string; isLogarithmic?: boolean };
  series: readonly Series[];
}

const size = { width: 720, height: 400 };
const inner = { left: 70, right: 700, top: 40, bottom: 340 };
const colours = ['#0b6e99', '#c2410c', '#4d7c0f', '#7e22ce', '#525252', '#b91c1c'];

/** Round marks from the least to the most of an axis. */
const marksOf = (values: readonly number[], isLogarithmic: boolean): number[] => {
  const [least, most] = [Math.min(...values), Math.max(...values, 1e-9)];
  if (isLogarithmic) {
    const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
    return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, place) => 10 ** (first + place));
  }
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, place) => place * step);
};

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(content)}</text>`;

/** Returns the place of a value between two ends of the picture. */
const scale = (marks: readonly number[], [from, to]: [number, number], isLogarithmic: boolean) => {
  const level = (value: number): number => (isLogarithmic ? Math.log10(value) : value);
  const [least, most] = [level(marks[0] ?? 0), level(marks.at(-1) ?? 1)];
  return (value: number): number => from + ((level(value) - least) / (most - least)) * (to - from);
};

/** Draws lines over two axes as SVG. Logarithmic axes take values above 0. */
export const drawPlot = ({ title, x, y, series }: Plot): string => {
  const points = series.flatMap((one) => one.points);
  const xMarks = marksOf(
    points.map((point) => point.x),
    x.isLogarithmic === true,
  );
  const yMarks = marksOf(
    points.map((point) => point.y),
    y.isLogarithmic === true,
  );
  const toX = scale(xMarks, [inner.left, inner.right], x.isLogarithmic === true);
  const toY = scale(yMarks, [inner.bottom, inner.top], y.isLogarithmic === true);
  const middle = (inner.left + inner.right) / 2;
  const shown = (mark: number): string => String(Number(mark.toPrecision(6)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${size.width}" height="${size.height}" fill="#fff"/>`,
    text(middle, 22, title, 'text-anchor="middle" font-size="15"'),
    ...yMarks.flatMap((mark) => [
      `<path d="M${inner.left} ${toY(mark).toFixed(1)}H${inner.right}" stroke="#ddd"/>`,
      text(inner.left - 8, toY(mark) + 4, shown(mark), 'text-anchor="end"'),
    ]),
    ...xMarks.map((mark) => text(toX(mark), inner.bottom + 18, shown(mark), 'text-anchor="middle"')),
    text(middle, inner.bottom + 38, x.label, 'text-anchor="middle"'),
    text(
      0,
      0,
      y.label,
      `text-anchor="middle" transform="translate(16 ${(inner.top + inner.bottom) / 2}) rotate(-90)"`,
    ),
    ...series.flatMap(({ name, points: own }, place) => {
      const colour = colours[place % colours.length] ?? '';
      const line = own.map((point) => `${toX(point.x).toFixed(1)},${toY(point.y).toFixed(1)}`).join(' ');
      const legend = inner.left + 10 + place * 200;
      return [
        `<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        `<rect x="${legend}" y="${inner.bottom + 46}" width="12" height="4" fill="${colour}"/>`,
        text(legend + 18, inner.bottom + 52, name),
      ];
    }),
    '</svg>\n',
  ].join('\n');
};
