import { buffer } from 'node:stream/consumers';
import type { Config } from '../../config/config.ts';
import { createRedisConnection } from '../../limits/redis-connection.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { silentLog } from '../../kit/log.ts';
import { createMediaFiles } from '../../media/create-media-files.ts';
import { ok, problem, type Check, type Finding } from './finding.ts';

const pingMs = 3_000;

/** Checks that Redis answers, if it is configured. */
export const redisCheck = ({ redisUrl }: Config): Check => ({
  name: 'redis',
  look: async () => {
    if (redisUrl === null) return [];
    const redis = createRedisConnection({ url: redisUrl, log: silentLog });
    try {
      const answer = await redis.attempt(() => redis.client.ping(), pingMs);
      return [
        answer === 'PONG'
          ? ok('Redis answers.')
          : problem(
              'REDIS_URL: Redis does not answer, so each process counts its limits alone.',
              'Start it, or correct its address and password.',
            ),
      ];
    } finally {
      await redis.close();
    }
  },
});

/** Time limits: for the object, and for its removal afterwards. */
const bucketMs = 5_000;
const removeMs = 3_000;

/** Checks that buckets take, return and remove an object. */
export const bucketsCheck = (config: Config): Check => ({
  name: 'buckets',
  look: async (outer) => {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(bucketMs)]);
    return lookAtMedia(config, signal);
  },
});

const lookAtMedia = async (config: Config, signal: AbortSignal): Promise<Finding[]> => {
  if (config.s3 === null) return [];
  const files = await createMediaFiles(config, { log: silentLog });
  const id = randomBase62(40);
  const written = Buffer.from('doctor');
  try {
    try {
      await files.write(id, written, { contentType: 'text/plain', signal });
      const read = await files.read(id, { signal });
      if (read === null || !(await buffer(read)).equals(written))
        return [
          problem(`MEDIA_URL: ${files.place} does not return what was written.`, 'Use another bucket.'),
        ];
    } finally {
      await files.remove(id, { signal: AbortSignal.timeout(removeMs) });
    }
    return [ok(`MEDIA_URL: ${files.place} takes, returns and removes an object.`)];
  } catch (error) {
    return [bucketProblem(files.place, error)];
  } finally {
    await files.close();
  }
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'TimeoutError' ? 'it does not answer.' : error.message;
};

const bucketProblem = (place: string, error: unknown): Finding =>
  problem(
    `MEDIA_URL: ${place} cannot be used: ${reasonOf(error)}`,
    'Correct S3_ENDPOINT, the bucket or its keys; they need the rights to read, write, list and remove.',
  );
