import type { PictureSize } from './picture-size.ts';

export interface Tile extends PictureSize {
  left: number;
  top: number;
}

/** Up to so many pictures stand in one row. */
const mostInRow = 4;

/** Columns and rows for so many pictures, the rows as full as can be. */
export const gridOf = (count: number): { columns: number; rows: number } => {
  const columns = count <= mostInRow ? count : Math.ceil(Math.sqrt(count));
  return { columns, rows: Math.ceil(count / columns) };
};

/** The places of `count` pictures side by side in a canvas, in reading order; together they cover its grid. */
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
