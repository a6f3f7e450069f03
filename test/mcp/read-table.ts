const written: Record<string, string> = { '\\\\': '\\', '\\t': '\t', '\\n': '\n', '\\r': '\r' };
const toValue = (cell: string): string => cell.replace(/\\[\\tnr]/g, (pair) => written[pair] ?? pair);

/** Reads the text of a paid search: its sentence, and the cells that are not empty, by the names of their columns. */
export const readTable = (text: string): { sentence: string; rows: Record<string, string>[] } => {
  const [sentence = '', table = ''] = text.split(/\n\n([^]*)/);
  const [header = '', ...lines] = table.split('\n');
  const fields = header.split('\t');
  const rows = lines.map((line) =>
    Object.fromEntries(
      line
        .split('\t')
        .map((cell, column): [string, string] => [toValue(fields[column] ?? ''), toValue(cell)])
        .filter(([, cell]) => cell !== ''),
    ),
  );
  return { sentence, rows };
};

/** Writes the fields of a profile as the cells of a table have them. */
export const toCells = (profile: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(profile)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([field, value]) => [field, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
