/** The differences between the engines in a migration. */
export interface Engine {
  kind: 'sqlite' | 'postgres';
  /** Column type of 64-bit integers: amounts, times, counts. */
  int64: string;
  /** Column type of identifiers: text that sorts by its bytes, in a database of any language. */
  id: string;
  tableEnd: string;
}

export const sqliteEngine: Engine = { kind: 'sqlite', int64: 'integer', id: 'text', tableEnd: ' strict' };
export const postgresEngine: Engine = {
  kind: 'postgres',
  int64: 'bigint',
  id: 'text collate "C"',
  tableEnd: '',
};
