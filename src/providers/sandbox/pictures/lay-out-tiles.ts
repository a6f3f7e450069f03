import type { PictureSize } from './picture-size.ts';

export interface Tile extends PictureSize {
  left: number;
  top: number;
}

/** The most pictures in one row. */
const maxInRow = 4;

/** Returns columns and rows for `count` pictures, with rows as full as possible. */
export const gridOf = (count: number): { columns: number; rows: number } => {
  const columns = count <= maxInRow ? count : Math.ceil(Math.sqrt(count));
  return { columns, rows: Math.ceil(count / columns) };
};

/** Returns the places of `count` pictures side by side in a canvas, in reading order. They cover its grid. */
export const layOutTiles = (count: number, canvas: PictureSize): Tile[] => {
  const { columns, rows } = gridOf(count);
  const edge = (index: number, parts: number, length: number): number => Math.round((index * length) / parts);
  return Array.from({ length: count }, (_, index) => {
    const column = index % columns;
    const row = Math.floor(index / columns);
    const left = edge(column, columns, canvas.width);
    const top = edge(row, rows, canvas.height);
    return {
      left,
      top,
      width: edge(column + 1, columns, canvas.width) - left,
      height: edge(row + 1, rows, canvas.height) - top,
    };
  });
};
