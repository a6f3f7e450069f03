import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A file of the recipes for lead services. */
export const readRecipe = (name: string): string =>
  readFileSync(new URL(`../../../deploy/leads/${name}`, import.meta.url), 'utf8');

/** The section `leads.http` of a recipe, whose service is at `origin` in place of its own address. */
export const readHttpRecipe = (name: string, origin: string): Record<string, unknown> => {
  const text = readRecipe(name).replaceAll(/https:\/\/[\w.:]+/g, origin);
  return parse(text).leads.http;
};
