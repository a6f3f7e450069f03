import { readFileSync, writeFileSync } from 'node:fs';
import { withSettingTables } from './settings-tables.ts';
import { withStateDiagrams } from './state-diagrams.ts';

const rewrite = (file: string, change: (document: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')));

rewrite('docs/configuration.md', withSettingTables);
rewrite('ARCHITECTURE.md', withStateDiagrams);
