import { readFileSync, writeFileSync } from 'node:fs';
import { makeFileSchema } from './file-schema.ts';
import { documentsWithTables, withSettingTables } from './settings-tables.ts';
import { documentsWithStates, withStateDiagrams } from './state-diagrams.ts';

const rewrite = (file: string, change: (document: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')));

for (const file of documentsWithTables) rewrite(file, withSettingTables);
for (const file of documentsWithStates) rewrite(file, withStateDiagrams);
writeFileSync('causeway.schema.json', makeFileSchema());
