import { lookup } from 'node:dns/promises';
import { buffer } from 'node:stream/consumers';
import type { Config } from '../../config/config.ts';
import { createHttpClient } from '../../http/http-client.ts';
import { OutboundError } from '../../http/outbound.ts';
import { readText } from '../../http/send-request.ts';
import { createRedisConnection } from '../../limits/redis-connection.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { silentLog } from '../../kit/log.ts';
import { createMediaFiles } from '../../media/create-media-files.ts';
import { askProvider } from '../../providers/check-provider.ts';
import { definitionOf, isSandbox } from '../../providers/index.ts';
import type { ProviderConfig } from '../../providers/provider.ts';
import { localAddress } from '../local-address.ts';
import { judgeDateHeader, ok, problem, warning, type Check, type Findings } from './finding.ts';

const pingMs = 3_000;

export const checkRedis: Check = async ({ redisUrl }) => {
  if (redisUrl === null) return false;
  const redis = createRedisConnection({ url: redisUrl, log: silentLog });
  try {
    const answer = await redis.attempt(() => redis.client.ping(), pingMs);
    if (answer === 'PONG') return ok('Redis answers.');
    return problem(
      'REDIS_URL: Redis does not answer, so each process counts its limits alone.',
      'Start it, or correct its address and password.',
    );
  } finally {
    await redis.close();
  }
};

export const checkAlerts: Check = ({ alerts }) =>
  ok(
    alerts === null
      ? 'ALERT_WEBHOOK_URL is not set, so nobody is told of a provider, payment, balance or disk that fails.'
      : `Alerts are sent to ${new URL(alerts.url).origin}; try it with "causeway webhooks test-alert".`,
  );

/** Time limits: for the object, and for its removal afterwards. */
const bucketMs = 5_000;
const removeMs = 3_000;

export const checkBuckets: Check = async (config, outer) => {
  if (config.s3 === null) return false;
  const signal = AbortSignal.any([outer, AbortSignal.timeout(bucketMs)]);
  const files = await createMediaFiles(config, { log: silentLog });
  const id = randomBase62(40);
  const written = Buffer.from('doctor');
  try {
    try {
      await files.write(id, written, { contentType: 'text/plain', signal });
      const read = await files.read(id, { signal });
      if (read === null || !(await buffer(read)).equals(written))
        return problem(`MEDIA_URL: ${files.place} does not return what was written.`, 'Use another bucket.');
    } finally {
      await files.remove(id, { signal: AbortSignal.timeout(removeMs) });
    }
    return ok(`MEDIA_URL: ${files.place} takes, returns and removes an object.`);
  } catch (error) {
    return problem(
      `MEDIA_URL: ${files.place} cannot be used: ${reasonOf(error)}`,
      'Correct S3_ENDPOINT, the bucket or its keys; they need the rights to read, write, list and remove.',
    );
  } finally {
    await files.close();
  }
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'TimeoutError' ? 'it does not answer.' : error.message;
};

/** Checks each provider by calls that cost nothing: its address, its key, its clock and the names of its models. */
export const checkProviders: Check = async ({ providers, models, moderation }, signal) => {
  const routes = [...models.flatMap((model) => model.routes), moderation];
  const looking = Object.entries(providers).flatMap(([name, provider]) => {
    const asked = new Set(routes.flatMap((route) => (route?.provider === name ? [route.model] : [])));
    return [lookAtProvider(name, { provider, signal }), findUnlisted(name, { provider, asked, signal })];
  });
  return Promise.all(looking);
};

/** Warns of models that a provider is asked for and does not list. A list that cannot be read is not compared. */
const findUnlisted = async (
  name: string,
  { provider, asked, signal }: { provider: ProviderConfig; asked: Set<string>; signal: AbortSignal },
): Promise<Findings> => {
  const listed = await definitionOf(provider)
    .listModels?.(provider, signal)
    .catch(() => []);
  if (listed === undefined || listed.length === 0) return false;
  return [...asked.difference(new Set(listed))].map((model) =>
    warning(
      `The provider ${name} does not list the model ${model}.`,
      'Correct its name in causeway.yaml, unless the provider serves it all the same.',
    ),
  );
};

const lookAtProvider = async (
  name: string,
  { provider, signal }: { provider: ProviderConfig; signal: AbortSignal },
): Promise<Findings> => {
  if (isSandbox(provider)) return false;
  const found = await askProvider(name, provider, signal);
  if (found === null) return ok(`${name} has nothing that can be asked free of charge.`);
  const { trouble, date } = found;
  if (trouble !== null)
    return problem(
      `The provider ${name} ${trouble.what}.`,
      `${trouble.remedy ?? 'Wait, or route to another provider'}.`,
    );
  return [
    ok(`The provider ${name} answers and takes the key.`),
    judgeDateHeader(`the clock of the provider ${name}`, date),
  ];
};

const askMs = 5_000;
const longestAnswer = 65_536;

/** Checks whether a gateway runs here and is ready, and whether PUBLIC_URL leads to a gateway. */
export const checkAddresses: Check = async (config, signal) => {
  const { publicUrl } = config;
  return Promise.all([lookHere(config, signal), publicUrl !== null && lookAtPublicUrl(publicUrl, signal)]);
};

/** Asks with GET. Resolves with the OutboundError of what cannot be reached. Rejects with the signal's reason. */
const ask = async (url: string, signal: AbortSignal) => {
  const http = createHttpClient({ connectMs: askMs });
  try {
    const answer = await http.send(url, {
      timeouts: { totalMs: askMs },
      signal,
      limits: { totalBytes: longestAnswer },
    });
    const text = await readText(answer, longestAnswer);
    return { status: answer.status, date: answer.headers['date'], text };
  } catch (error) {
    if (error instanceof OutboundError) return error;
    throw error;
  } finally {
    await http.close();
  }
};

const lookHere = async (config: Config, signal: AbortSignal): Promise<Findings> => {
  if (config.port === 0) return ok('PORT is 0, so no running gateway was looked for.');
  const address = localAddress(config);
  const answer = await ask(`${address}/health/ready`, signal);
  if (answer instanceof OutboundError)
    return answer.failure === 'unreachable'
      ? ok(`No gateway runs at ${address} now.`)
      : problem(
          `What runs at ${address} does not answer /health/ready (${answer.failure.replaceAll('_', ' ')}).`,
          'Read its log; restart it if it hangs.',
        );
  if (answer.status === 200) return ok(`A gateway runs at ${address} and is ready.`);
  return problem(
    `What runs at ${address} answers ${answer.status} to /health/ready: ${answer.text.slice(0, 300)}`,
    'See docs/operators.md, "Health"; if it is another program, set another PORT.',
  );
};

const lookAtPublicUrl = async (publicUrl: string, signal: AbortSignal): Promise<Findings> => {
  const { hostname } = new URL(publicUrl);
  try {
    await lookup(hostname.replace(/^\[(.*)\]$/, '$1'));
  } catch {
    return warning(
      `PUBLIC_URL was not tried: the name ${hostname} does not resolve from here.`,
      'Make its DNS record, or try it from outside.',
    );
  }
  const answer = await ask(`${publicUrl}/health/live`, signal);
  if (answer instanceof OutboundError)
    return warning(
      `PUBLIC_URL: ${publicUrl} cannot be reached from here (${answer.failure.replaceAll('_', ' ')}).`,
      'Start the gateway and its proxy; if they run, try the address from outside.',
    );
  if (answer.status !== 200 || !answer.text.includes('"live"'))
    return problem(
      `PUBLIC_URL: ${publicUrl}/health/live answers ${answer.status}, and not as a gateway does.`,
      'Let the proxy there pass all paths to the gateway (docs/operators.md, "Behind a proxy").',
    );
  return [
    ok(`PUBLIC_URL: ${publicUrl} leads to a gateway.`),
    judgeDateHeader('the clock behind PUBLIC_URL', answer.date),
  ];
};
