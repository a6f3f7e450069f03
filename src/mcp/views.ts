import { readFile } from 'node:fs/promises';
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { memoizeAsync } from '../kit/memoize.ts';
import type { ToolBinding } from '../operations/definition.ts';

type ViewName = NonNullable<ToolBinding['view']>;

const views: readonly ViewName[] = ['leads', 'job', 'balance'];

/** The views of tool results (MCP Apps, revision 2026-01-26). A host shows them in a sandboxed frame. */
const mimeType = 'text/html;profile=mcp-app';

/** The address of a view, which a tool names. */
export const viewUri = (view: ViewName): string => `ui://gateway/${view}`;

/** Finds the view at an address. Null: there is none. */
export const findView = (uri: string): ViewName | null => views.find((view) => viewUri(view) === uri) ?? null;

/** Returns a function that reads a view. The page has no data of anybody, and loads media of this service alone. */
export const createReadView = (publicUrl: () => string) => {
  const pages = memoizeAsync(async () => {
    const read = (name: string): Promise<string> =>
      readFile(new URL(`views/${name}`, import.meta.url), 'utf8');
    const [style, bridge] = await Promise.all([read('view.css'), read('bridge.js')]);
    const written = views.map(
      async (view) => [view, toPage({ view, style, scripts: [bridge, await read(`${view}.js`)] })] as const,
    );
    return new Map(await Promise.all(written));
  });
  return async (view: ViewName): Promise<ReadResourceResult> => {
    const text = (await pages()).get(view);
    if (text === undefined) throw new Error(`there is no view ${view}`);
    const ui = { csp: { resourceDomains: [new URL(publicUrl()).origin] }, prefersBorder: true };
    return { contents: [{ uri: viewUri(view), mimeType, text, _meta: { ui } }] };
  };
};

/** Makes a page that needs no other file, without indentation and comments. Its modules are joined to one. */
const toPage = ({ view, style, scripts }: { view: ViewName; style: string; scripts: string[] }): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${view}</title><style>${style}</style></head>
<body><main></main><script type="module">${scripts.join('\n').replaceAll(onlyInModules, '')}</script></body>
</html>`.replaceAll(indentOrComment, '');

const onlyInModules = /^import .*;\n|^export /gm;
const indentOrComment = /^\s+(?:\/\/.*\n)?|^\/\/.*\n|^\/\*\*.*\n/gm;
