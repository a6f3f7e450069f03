import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withStateDiagrams } from '../../scripts/state-diagrams.ts';

it('ARCHITECTURE.md has the states and edges of the tables of events (npm run docs:settings writes them)', () => {
  const document = readFileSync('ARCHITECTURE.md', 'utf8');
  expect(document.match(/stateDiagram-v2/g)).toHaveLength(2);
  expect(withStateDiagrams(document)).toBe(document);
});
