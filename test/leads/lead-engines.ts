import { hasService } from '../outside-services.ts';
import { createPostgresProfiles } from './postgres/create-postgres-profiles.ts';
import { createSqliteProfiles } from './sqlite/create-sqlite-profiles.ts';
import type { TestProfiles } from './test-profiles.ts';

export interface LeadEngine {
  kind: string;
  create(): Promise<TestProfiles>;
}

/** The engines to test, for `describe.each(leadEngines())`. */
export const leadEngines = (): LeadEngine[] => [
  { kind: 'SQLite', create: createSqliteProfiles },
  ...(hasService('PostgreSQL') ? [{ kind: 'PostgreSQL', create: createPostgresProfiles }] : []),
];
