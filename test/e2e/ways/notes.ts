import { globSync, readFileSync } from 'node:fs';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

/** Texts to insert into the source of a file, from its end to its start. */
export type Insertions = [at: number, text: string][];

/** The calls of functions of src: the file of the caller (null: the runtime), the file and the name of the function. */
export interface Notes {
  calls: [caller: string | null, file: string, name: string][];
  /** Names of commands of the store. */
  commands: string[];
  /** Files that worked in other threads. */
  threadFiles: string[];
}

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Finds the functions of each file of src, and returns what must be inserted so that each calls `noteWay`. */
export const findInsertions = (): Record<string, Insertions> =>
  Object.fromEntries(
    globSync('**/*.ts', { cwd: src }).map((path, index) => {
      const insertions: Insertions = [];
      const program = parseAst(readFileSync(src + path, 'utf8'), { lang: 'ts' });
      visit(program, '', (name, node) =>
        insertions.push(...noteIn(node, `${index}, ${JSON.stringify(name)}`)),
      );
      return [path.replaceAll(sep, '/'), insertions.sort(([one], [other]) => other - one)];
    }),
  );

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** Calls `found` with each function and the name that is nearest to it. */
const visit = (node: unknown, name: string, found: (name: string, node: Node) => void): void => {
  if (!isNode(node)) return;
  const { name: known = name } = Object(node['id'] ?? node['key']) as { name?: unknown };
  if (/Function/.test(String(node['type']))) found(String(known), node);
  for (const child of Object.values(node)) visit(child, String(known), found);
};

const noteIn = ({ body, params }: Node, facts: string): Insertions => {
  if (!isNode(body)) return [];
  const [first] = Array.isArray(params) ? (params as unknown[]) : [];
  const detail = isNode(first) && first['name'] === 'name' ? ', name' : '';
  const call = `noteWay(${facts}${detail})`;
  const [start, end] = [Number(body['start']), Number(body['end'])];
  return body['type'] === 'BlockStatement'
    ? [[start + 1, `${call};`]]
    : [
        [start, `(${call}, `],
        [end, ')'],
      ];
};
