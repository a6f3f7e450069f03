import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { documentsWithTables, keyRows, withSettingTables } from '../../scripts/settings-tables.ts';
import { settingsHelp, variableRows, allVariables, removedVariables } from '../../src/config/variables.ts';

const parentOf = (key: string): string => key.slice(0, key.lastIndexOf('.'));

describe('docs/configuration.md', () => {
  const document = readFileSync('docs/configuration.md', 'utf8');

  it.each(documentsWithTables)('%s has the tables that docs:settings writes', (file) => {
    const text = readFileSync(file, 'utf8');
    expect(withSettingTables(text)).toBe(text);
  });

  it('links to headings that it has', () => {
    const headings = [...document.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
      text
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = [...document.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    expect(headings).toEqual(expect.arrayContaining(links));
  });

  it('says of every variable and every key what it does', () => {
    expect(variableRows(allVariables).filter(({ text }) => text === '')).toEqual([]);
    const described = new Set(keyRows().flatMap(({ name, text }) => (text === '' ? [] : [name])));
    const silent = keyRows().filter(({ name }) => !described.has(name) && !described.has(parentOf(name)));
    expect(silent).toEqual([]);
  });
});

describe('the help of the server', () => {
  it('names every variable and its default, without the marks of Markdown', () => {
    const help = settingsHelp();
    for (const name of Object.keys(allVariables)) expect(help).toContain(`  ${name}`);
    expect(help).toContain('  PORT=8402\n      port to listen on; 0 takes a free one');
    expect(help).not.toMatch(/[`\][]/);
  });
});

it('a variable that was removed is no setting', () => {
  expect(Object.keys(allVariables)).toEqual(expect.not.arrayContaining(removedVariables));
});
