import { createServer } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { writeError } from '../../../src/kit/write-answer.ts';
import { createConsoleFiles } from '../../../src/rest/console/console-files.ts';
import { listenOnLoopback, type Listening } from '../../mcp/listen-on-loopback.ts';

let folder: string;
let listening: Listening;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-console-'));
  const serve = createConsoleFiles('console', {
    config: { brand: 'causeway' },
    x402: { status: () => [] },
    folder,
  });
  const server = createServer((request, response) => {
    serve(request, response, request.url ?? '').catch((error: unknown) =>
      writeError(response, error, { log: silentLog, requestId: 'req' }),
    );
  });
  listening = await listenOnLoopback(server);
});
afterEach(async () => {
  await listening.close();
  await rm(folder, { recursive: true });
});

const get = (path: string, method = 'GET'): Promise<Response> => fetch(listening.url + path, { method });

describe('the files of the console', () => {
  it('are one page at every address, which is not kept and names the files from wherever it is', async () => {
    await writeFile(join(folder, 'console-AB12.js'), 'export {};');
    await writeFile(join(folder, 'style-CD34.css'), 'body {}');
    for (const path of ['/', '/jobs', '/operator/accounts/x']) {
      const answer = await get(path);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'");
      const page = await answer.text();
      const files = [...page.matchAll(/(?:src|href)="([^"]*\.(?:js|css))"/g)].map(([, name = '']) => name);
      const { href } = new URL(path.slice(1), 'https://gateway.example/base/console/');
      expect(files.map((name) => new URL(name, href).pathname).toSorted()).toEqual([
        '/base/console/assets/console-AB12.js',
        '/base/console/assets/style-CD34.css',
      ]);
    }
  });

  it('are kept for ever by browsers under their names, and nothing else of the folder is served', async () => {
    await writeFile(join(folder, 'console-AB12.js'), 'export {};');
    await writeFile(join(folder, 'secret.txt'), 'hidden');
    const answer = await get('/assets/console-AB12.js');
    expect(await answer.text()).toBe('export {};');
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(answer.headers.get('cache-control')).toContain('immutable');
    for (const path of ['/assets/secret.txt', '/assets/..%2fsecret.txt', '/assets/', '/assets/old.js'])
      expect((await get(path)).status).toBe(404);
    expect((await get('', 'POST')).status).toBe(405);
  });

  it('say how they are built where they are not', async () => {
    const answer = await get('/jobs');
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('npm run build:console');
  });
});
