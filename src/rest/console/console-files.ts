import type { IncomingMessage, ServerResponse } from 'node:http';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError, methodNotAllowed } from '../../kit/errors.ts';
import { listDirectory } from '../../kit/files.ts';
import { iconPath } from '../../kit/icon.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { brandTitle } from '../../kit/text.ts';
import type { X402Gate } from '../../payments/sale/gate.ts';
import { html } from '../docs/docs-page-html.ts';
import { pageHeaders, pageShell } from '../page-shell.ts';

/** The files that bin/build-console.mjs makes. */
const builtFolder = fileURLToPath(new URL('../../../build/console', import.meta.url));

/** A checkout without development packages has none. */
export const isConsoleBuilt = (): boolean => existsSync(builtFolder);

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "media-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const ownHeaders = { ...pageHeaders, 'content-security-policy': policy };

const notBuilt =
  'The console is not built here: its bundler is a development package. Run "npm ci" and "npm run build:console" in a ' +
  'checkout, or use the package or the image, which have the console in them. Everything else works without it.';

export interface ConsoleFilesOptions {
  config: { brand: string };
  x402: Pick<X402Gate, 'status'>;
  /** In place of the files of this program. */
  folder?: string;
}

const assetPath = '/assets/';

/** Serves a built page at each address below `/NAME`, and its scripts and styles. */
export const createConsoleFiles = (
  name: 'console' | 'pay',
  { config, x402, folder = builtFolder }: ConsoleFilesOptions,
) => {
  const load = memoizeAsync(async () => {
    const names = (await listDirectory(folder)).filter((name) => types[extname(name)] !== undefined);
    const read = async (name: string) => [name, await readFile(join(folder, name))] as const;
    return new Map(await Promise.all(names.map(read)));
  });

  const page = (names: readonly string[], path: string): string => {
    // Relative, because a proxy may put a path before it, and an operator may come past the proxy.
    const root = path === '' ? '' : '../'.repeat(path.split('/').length - 1);
    const addressOf = (pattern: RegExp): string =>
      `${root}${name}${assetPath}${names.find((one) => pattern.test(one)) ?? ''}`;
    const title = brandTitle(config);
    const networks = x402
      .status()
      .map(({ network, label, isTest }) => [network, isTest ? `${label} (test money)` : label]);
    return pageShell({
      title: `${title} ${name}`,
      style: addressOf(/\.css$/),
      icon: root + iconPath.slice(1),
      body: html`<body>
        <div
          id="console"
          data-brand="${config.brand}"
          data-title="${title}"
          data-networks="${JSON.stringify(Object.fromEntries(networks))}"
        >
          <noscript>This page needs JavaScript.</noscript>
        </div>
        <script type="module" src="${addressOf(new RegExp(`^${name}-.*\\.js$`))}"></script>
      </body>`,
    });
  };

  /** `path`: below that address. Throws AppError. */
  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
    const files = await load();
    if (path.startsWith(assetPath)) {
      const file = path.slice(assetPath.length);
      const bytes = files.get(file);
      if (bytes === undefined) throw new AppError('not_found', 'There is nothing at this address.');
      response.writeHead(200, {
        'content-type': types[extname(file)],
        'content-length': bytes.length,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
      response.end(bytes);
    } else if (files.size === 0) {
      response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
      response.end(`${notBuilt}\n`);
    } else {
      response.writeHead(200, {
        ...ownHeaders,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-robots-tag': 'noindex',
      });
      response.end(page([...files.keys()], path));
    }
  };
};
