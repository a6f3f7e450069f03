import { readFileSync, writeFileSync } from 'node:fs';
import { withSettingTables } from './settings-tables.ts';

const file = 'docs/configuration.md';
writeFileSync(file, withSettingTables(readFileSync(file, 'utf8')));
