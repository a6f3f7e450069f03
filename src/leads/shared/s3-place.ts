import {
  createS3Client,
  defaultS3Limits,
  type S3Answer,
  type S3Client,
  type S3Limits,
} from '../../http/s3/s3-client.ts';
import { nullWhenMissing, S3Error } from '../../http/s3/s3-error.ts';
import type { S3Config } from '../../http/s3/s3-settings.ts';
import { abortOldUploads, removeObject, uploadStream } from '../../http/s3/s3-upload.ts';
import { elementsOf, textOf } from '../../http/s3/s3-xml.ts';
import { newId } from '../embedded/lead-folder.ts';
import { LeadKeeperError } from '../lead-keeper.ts';
import { isObjectName, manifestName, type SharedPlace } from './shared-place.ts';

const contentType = 'application/octet-stream';
/** Time limit for the clean-up after a failed upload. */
const undoMs = 10_000;
/** Pages of a thousand objects per list. A place has fewer than ten, and what crashed publications left. */
const maxPages = 10;
/** An ETag that no object has. */
const noTag = `"${'0'.repeat(32)}"`;

/** Opens a place in a bucket of S3 or a compatible service with conditional writes. */
export const openS3Place = (config: S3Config, limits: Partial<S3Limits> = {}): SharedPlace => {
  const client = createS3Client(config, { ...defaultS3Limits, ...limits });
  const { prefix } = config;
  const address = `s3://${config.bucket}/${prefix}`;
  const keyOf = (name: string): string => prefix + name;
  const undo = async (act: (signal: AbortSignal) => Promise<void>): Promise<void> =>
    // A later publication removes the rest.
    act(AbortSignal.timeout(undoMs)).catch(() => undefined);

  const readManifest: SharedPlace['readManifest'] = async ({ signal }) => {
    const answer = await nullWhenMissing(client.call({ method: 'GET', key: keyOf(manifestName), signal }));
    if (answer === null) return null;
    return { text: answer.text, tag: requireTag(answer.header('etag')) };
  };
  /** Resolves with the answer; null if the condition in `headers` does not hold. */
  const writeIf = async (
    name: string,
    { body, headers, signal }: { body: string; headers: Record<string, string>; signal: AbortSignal },
  ): Promise<S3Answer | null> => {
    try {
      return await client.call({ method: 'PUT', key: keyOf(name), body: Buffer.from(body), headers, signal });
    } catch (error) {
      if (error instanceof S3Error && isRefusal(error)) return null;
      throw error;
    }
  };

  return {
    address,
    readManifest,
    replaceManifest: async (text, { tag, signal }) => {
      const headers: Record<string, string> = tag === null ? { 'if-none-match': '*' } : { 'if-match': tag };
      let failure: unknown = null;
      try {
        const answer = await writeIf(manifestName, { body: text, headers, signal });
        if (answer !== null) return requireTag(answer.header('etag'));
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
      // After a lost answer the client has asked again, so a refusal may follow from our own write.
      const found = await readManifest({ signal });
      if (found?.text === text) return found.tag;
      if (failure !== null) throw failure;
      return null;
    },
    assertReplaceable: async ({ signal }) => {
      const probe = `gone-${newId()}.bin`;
      const isRefused = async (headers: Record<string, string>): Promise<boolean> =>
        (await writeIf(probe, { body: 'test', headers, signal })) === null;
      try {
        // If-Match must fail without an object, and If-None-Match with one.
        const isObeyed =
          (await isRefused({ 'if-match': noTag })) &&
          !(await isRefused({})) &&
          (await isRefused({ 'if-none-match': '*' }));
        if (!isObeyed) throw ignoresConditions(address);
      } catch (error) {
        throw error instanceof S3Error && error.status === 501 ? ignoresConditions(address, error) : error;
      } finally {
        await undo((undoSignal) => removeObject(client, keyOf(probe), undoSignal));
      }
    },
    get: async (name, { signal }) => (await client.open({ method: 'GET', key: keyOf(name), signal })).body,
    put: async (name, source, { signal }) => {
      await uploadStream(source, { client, key: keyOf(name), contentType, signal, undo });
    },
    remove: (name, { signal }) => removeObject(client, keyOf(name), signal),
    listOld: (options) => listOld(client, { ...options, prefix }),
    close: () => client.close(),
  };
};

const listOld = async (
  client: S3Client,
  { prefix, olderThan, signal }: { prefix: string; olderThan: number; signal: AbortSignal },
): Promise<string[]> => {
  const isOurs = (key: string): boolean => key.startsWith(prefix) && isObjectName(key.slice(prefix.length));
  await abortOldUploads({ client, prefix, isOurs, olderThan, signal });
  const old: string[] = [];
  let after: Record<string, string> = {};
  for (let page = 0; page < maxPages; page += 1) {
    const query = { 'list-type': '2', prefix, ...after };
    const { text } = await client.call({ method: 'GET', key: null, query, signal });
    for (const element of elementsOf(text, 'Contents')) {
      const key = textOf(element, 'Key') ?? '';
      const writtenAt = Date.parse(textOf(element, 'LastModified') ?? '');
      if (isOurs(key) && writtenAt < olderThan) old.push(key.slice(prefix.length));
    }
    const next = textOf(text, 'NextContinuationToken');
    if (next === null) break;
    after = { 'continuation-token': next };
  }
  return old;
};

/** The condition does not hold (also If-Match without an object), or two writes met. */
const isRefusal = ({ status, code }: S3Error): boolean =>
  status === 412 || status === 409 || (status === 404 && code === 'NoSuchKey');

const requireTag = (tag: string | null): string => {
  if (tag === null) throw new Error('the bucket answered without an ETag');
  return tag;
};

const ignoresConditions = (address: string, cause?: unknown): LeadKeeperError =>
  new LeadKeeperError(
    'failed',
    `The service of ${address} ignores If-Match or If-None-Match, so two imports could overwrite each other. Use a ` +
      'service with conditional writes (AWS S3 has them), or a shared folder. Nothing was changed.',
    { cause },
  );
