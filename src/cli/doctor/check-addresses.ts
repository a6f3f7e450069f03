import { lookup } from 'node:dns/promises';
import type { Config } from '../../config/config.ts';
import { createHttpClient } from '../../http/http-client.ts';
import { OutboundError } from '../../http/outbound.ts';
import { readText } from '../../http/send-request.ts';
import { judgeDateHeader, ok, problem, warning, type Check, type Finding } from './finding.ts';

const timeoutMs = 5_000;
const longestAnswer = 65_536;

/** Checks whether a gateway runs here and is ready, and whether PUBLIC_URL leads to a gateway. */
export const addressesCheck = (config: Config): Check => ({
  name: 'addresses',
  look: async (signal) => {
    const { publicUrl } = config;
    const here = lookHere(config, signal);
    const there = publicUrl === null ? [] : lookAtPublicUrl(publicUrl, signal);
    return (await Promise.all([here, there])).flat();
  },
});

/** Asks with GET. Throws OutboundError, or the signal's reason. */
const ask = async (url: string, signal: AbortSignal) => {
  const http = createHttpClient({ connectMs: timeoutMs });
  try {
    const answer = await http.send(url, {
      timeouts: { totalMs: timeoutMs },
      signal,
      limits: { totalBytes: longestAnswer },
    });
    const text = await readText(answer, longestAnswer);
    return { status: answer.status, date: answer.headers['date'], text };
  } finally {
    await http.close();
  }
};

const lookHere = async ({ host, port }: Config, signal: AbortSignal): Promise<Finding[]> => {
  if (port === 0) return [ok('PORT is 0, so no running gateway was looked for.')];
  const any: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  const address = `http://${any[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
  try {
    const { status, text } = await ask(`${address}/health/ready`, signal);
    if (status === 200) return [ok(`A gateway runs at ${address} and is ready.`)];
    return [
      problem(
        `What runs at ${address} answers ${status} to /health/ready: ${text.slice(0, 300)}`,
        'See docs/operators.md, "Health"; if it is another program, set another PORT.',
      ),
    ];
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return [ok(`No gateway runs at ${address} now.`)];
  }
};

const lookAtPublicUrl = async (publicUrl: string, signal: AbortSignal): Promise<Finding[]> => {
  const { hostname } = new URL(publicUrl);
  try {
    await lookup(hostname.replace(/^\[(.*)\]$/, '$1'));
  } catch {
    return [
      warning(
        `PUBLIC_URL was not tried: the name ${hostname} does not resolve from here.`,
        'Make its DNS record, or try it from outside.',
      ),
    ];
  }
  try {
    const { status, date, text } = await ask(`${publicUrl}/health/live`, signal);
    if (status !== 200 || !text.includes('"live"'))
      return [
        problem(
          `PUBLIC_URL: ${publicUrl}/health/live answers ${status}, and not as a gateway does.`,
          'Let the proxy there pass all paths to the gateway (docs/operators.md, "Behind a proxy").',
        ),
      ];
    const clock = judgeDateHeader('the clock behind PUBLIC_URL', date);
    return [ok(`PUBLIC_URL: ${publicUrl} leads to a gateway.`), ...(clock === false ? [] : [clock])];
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return [
      warning(
        `PUBLIC_URL: ${publicUrl} cannot be reached from here (${error.failure.replaceAll('_', ' ')}).`,
        'Start the gateway and its proxy; if they run, try the address from outside.',
      ),
    ];
  }
};
