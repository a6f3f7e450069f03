import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Lists what a folder and its folders hold. Links to folders, which may lead out of it, are not entered. */
export const listEntries = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry, ...listEntries(join(folder, entry.name))] : [entry],
  );
