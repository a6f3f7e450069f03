import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { allChecks } from '../../scripts/contract/all-checks.ts';

interface Rule {
  id: string;
  text: string;
  from: string;
  /** `suite`, and tests as `file › title`. */
  heldBy: string[];
}

const tests = new URL('../', import.meta.url);
let rules: Rule[];

/** The rows of the tables of rules in rules.md. */
const readRules = (page: string): Rule[] =>
  page.split('\n').flatMap((line) => {
    const [, id = '', text = '', from = '', heldBy = ''] = line.split('|').map((cell) => cell.trim());
    return /^[A-Z]+-\d+$/.test(id)
      ? [
          {
            id,
            text,
            from,
            heldBy: [...heldBy.matchAll(/`([^`]+)`|suite/g)].map(([place, test]) => test ?? place),
          },
        ]
      : [];
  });

const testsOf = ({ heldBy }: Rule): string[] => heldBy.filter((place) => place !== 'suite');

beforeAll(async () => {
  rules = readRules(await readFile(new URL('contract/rules.md', tests), 'utf8'));
});

describe('the rules in rules.md', () => {
  it('have ids of their own, in order within their families, and a text and an origin each', () => {
    const ids = rules.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const family of new Set(ids.map((id) => id.split('-')[0]))) {
      const numbers = ids.filter((id) => id.startsWith(`${family}-`)).map((id) => Number(id.split('-')[1]));
      expect([family, numbers]).toEqual([family, numbers.map((_number, index) => index + 1)]);
    }
    for (const { text, from } of rules) expect([text, from]).not.toContain('');
  });

  it('say of exactly the checks of the suite that it holds them', () => {
    const held = rules.filter(({ heldBy }) => heldBy.includes('suite')).map(({ id }) => id);
    expect(held.toSorted()).toEqual(allChecks.map(({ id }) => id).toSorted());
  });

  it('are each held by the suite or by a test', () => {
    for (const { id, heldBy } of rules) {
      expect([id, heldBy.length > 0]).toEqual([id, true]);
      for (const place of heldBy) expect(place).toMatch(/^suite$|^[\w/.-]+\.test\.ts › ./);
    }
  });

  it('name tests that there are', async () => {
    const named = rules.flatMap((rule) => testsOf(rule));
    expect(named.length).toBeGreaterThan(100);
    const missing = await Promise.all(
      named.map(async (place) => {
        const [file = '', title = ''] = place.split(' › ', 2);
        const source = await readFile(new URL(file, tests), 'utf8').catch(() => '');
        return source.replace(/\\(['"])/g, '$1').includes(title) ? [] : [place];
      }),
    );
    expect(missing.flat()).toEqual([]);
  });
});
