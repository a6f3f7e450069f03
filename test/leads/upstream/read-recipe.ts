import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const page = readFileSync(new URL('../../../docs/operators-profiles.md', import.meta.url), 'utf8');

/** The first block in `language` below a heading of docs/operators-profiles.md. */
export const readRecipe = (heading: string, language: string): string => {
  const [, below = ''] = page.split(new RegExp(`^##+ ${heading}$`, 'm'));
  const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(below)?.[1];
  if (block === undefined) throw new Error(`there is no ${language} below ${heading}`);
  return block;
};

/** The section `leads.http` of a recipe, whose service is at `origin` in place of its own address. */
export const readHttpRecipe = (heading: string, origin: string): Record<string, unknown> => {
  const text = readRecipe(heading, 'yaml').replaceAll(/https:\/\/[\w.:]+/g, origin);
  return parse(text).leads.http;
};
