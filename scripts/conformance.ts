import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request as send, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { startGatewayProcess } from './gateway-process.ts';

// Runs the protocol's conformance suite against a gateway on loopback, and compares the failures with the recorded ones.

const suite = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const suiteTimeoutMs = 120_000;

const revisionSchema = z.array(
  z.object({
    reason: z.string(),
    /** How many checks of each scenario fail. */
    failed: z.record(z.string(), z.int().positive()),
  }),
);
const expectedSchema = z.record(z.string(), revisionSchema);

/** Adds the key to each request, which the suite cannot send. Returns its server, which listens. */
const startKeyProxy = async (url: string, apiKey: string): Promise<Server> => {
  const { hostname, port } = new URL(url);
  const server = createServer((request, response) => {
    const headers = { authorization: `Bearer ${apiKey}`, ...request.headers };
    const { method, url: path } = request;
    const forwarded = send({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

/** Runs the scenarios that a revision requires. Returns how many checks fail of each scenario that fails. */
const runSuite = async (url: string, revision: string): Promise<Map<string, number>> => {
  const words = [suite, 'server', '--url', url, '--requirements', revision];
  const options = { timeout: suiteTimeoutMs, maxBuffer: 64 * 1024 ** 2 };
  // It ends with an error when a scenario fails.
  const text = await promisify(execFile)(process.execPath, words, options).then(
    ({ stdout }) => stdout,
    (error: unknown) => z.object({ stdout: z.string() }).parse(error).stdout,
  );
  const lines = [...text.matchAll(/^[✓✗] ([\w-]+): \d+ passed, (\d+) failed/gm)];
  if (lines.length === 0) throw new Error(`The suite has no summary:\n${text.slice(-2_000)}`);
  return new Map(
    lines
      .map(([, name = '', failed]): [string, number] => [name, Number(failed)])
      .filter(([, failed]) => failed > 0),
  );
};

const compare = (revision: string, found: Map<string, number>, expected: Map<string, number>): string[] =>
  [...new Set([...found.keys(), ...expected.keys()])]
    .filter((name) => found.get(name) !== expected.get(name))
    .map(
      (name) =>
        `${revision} ${name}: ${found.get(name) ?? 0} checks fail, ${expected.get(name) ?? 0} are recorded`,
    );

const file = join(import.meta.dirname, 'conformance-expected.json');
const expected = expectedSchema.parse(JSON.parse(await readFile(file, 'utf8')));
const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
const gateway = await startGatewayProcess({ DATA_DIR: folder, LOG_LEVEL: 'silent' });
const proxy = await startKeyProxy(gateway.url, gateway.apiKey ?? '');
const address = proxy.address();
try {
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const differences: string[] = [];
  for (const [revision, groups] of Object.entries(expected)) {
    const found = await runSuite(`http://127.0.0.1:${address.port}/mcp`, revision);
    const recorded = new Map(groups.flatMap(({ failed }) => Object.entries(failed)));
    differences.push(...compare(revision, found, recorded));
    console.log(`${revision}: ${found.size} scenarios fail, ${recorded.size} are recorded with reasons`);
  }
  for (const difference of differences) console.error(difference);
  if (differences.length > 0) {
    console.error(`Mend the gateway, or record it with a reason in ${file}.`);
    process.exitCode = 1;
  }
} finally {
  proxy.close();
  await gateway.stop();
  await rm(folder, { recursive: true, force: true });
}
