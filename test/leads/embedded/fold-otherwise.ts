import { DatabaseSync } from 'node:sqlite';
import { seal, sealNames, unseal } from '../../../src/leads/embedded/segment/segment-format.ts';

/** Makes the segment in `file` look as if another version of Unicode had folded it, an early one by default. */
export const foldOtherwise = (file: string, unicode = '1.0'): void => {
  const database = new DatabaseSync(file);
  const head: object = JSON.parse(
    Buffer.from(
      unseal(database.prepare('SELECT head FROM segment').get()?.['head'], sealNames.head),
    ).toString(),
  );
  const changed = Buffer.from(JSON.stringify({ ...head, unicode }));
  database.prepare('UPDATE segment SET head = ?').run(seal(changed, sealNames.head));
  database.close();
};
