/** Formats a whole number: 1,234,567. */
export const formatCount = (count: number): string => Math.round(count).toLocaleString('en-US');

/** Formats a number with its noun: 1 row, 2 rows. */
export const countOf = (count: number, one: string, several = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : several}`;

/** Formats a duration in its two largest units: 0.8 s, 42 s, 3 min 5 s, 2 h 10 min. */
export const formatDuration = (milliseconds: number): string => {
  const seconds = milliseconds / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

const byteUnits = ['KB', 'MB', 'GB', 'TB'] as const;

/** Formats bytes, a thousand to a kilobyte: 512 bytes, 1.5 MB. */
export const formatBytes = (bytes: number): string => {
  let size = bytes;
  let shown = `${bytes} bytes`;
  for (const unit of byteUnits) {
    if (size < 999.5) break;
    size /= 1_000;
    shown = `${size < 99.95 ? size.toFixed(1) : Math.round(size)} ${unit}`;
  }
  return shown;
};

/** Formats lines of a name, a right-aligned figure and a note. */
export const figureLines = (
  figures: readonly (readonly [name: string, figure: string, note?: string])[],
): string => {
  const nameWidth = Math.max(...figures.map(([name]) => name.length));
  const figureWidth = Math.max(...figures.map(([, figure]) => figure.length));
  return figures
    .map(([name, figure, note = '']) =>
      `  ${name.padEnd(nameWidth)}  ${figure.padStart(figureWidth)}  ${note}`.trimEnd(),
    )
    .join('\n');
};
