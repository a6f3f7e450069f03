import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { newId } from '../../kit/ids.ts';
import { assertRoom, type ReadFree, withRoom } from '../../kit/disk.ts';
import { removeOldFiles } from '../../kit/files.ts';
import { ProviderError } from '../provider-error.ts';
import { ThreadError } from '../../kit/threads/connect-thread.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import type { VideoContent } from './video-provider.ts';

/** The paths of an MP4 file and of the MOV file to make of it. */
export interface RemuxTask {
  from: string;
  to: string;
}

/** No remux takes this long. */
const abandonedMs = 24 * 3_600_000;

export type MovMaker = ReturnType<typeof createMovMaker>;

export const createMovMaker = ({ directory, readFree }: { directory: string; readFree?: ReadFree }) => {
  const pool = createThreadPool<RemuxTask, void>({
    file: new URL('./remux/worker.ts', import.meta.url),
    size: 1,
    queueLimit: 100,
    timeoutMs: 600_000,
    maxHeapMb: 512,
  });

  const convert = async function* (
    source: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const name = newId();
    const task = { from: join(directory, `${name}.mp4`), to: join(directory, `${name}.mov`) };
    await mkdir(directory, { recursive: true });
    try {
      const file = createWriteStream(task.from, { flags: 'wx', mode: 0o600 });
      await pipeline(withRoom(source, directory, readFree), file, { signal });
      // The MOV file has the same pictures.
      await assertRoom(directory, file.bytesWritten, readFree);
      await remux(task, signal);
      await rm(task.from);
      for await (const chunk of createReadStream(task.to, { signal })) yield chunk;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      await Promise.all(Object.values(task).map((file) => rm(file, { force: true })));
    }
  };

  const remux = async (task: RemuxTask, signal: AbortSignal): Promise<void> => {
    try {
      await pool.run(task, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new ProviderError('the video could not be put into a MOV file', {
        failure: error instanceof ThreadError && error.reason === 'failed' ? 'fatal' : 'ambiguous',
        cause: error,
      });
    }
  };

  return {
    /** Puts MP4 into MOV while the body is read: in files and a thread, with bounded memory. Throws ProviderError. */
    toMov: (content: VideoContent, signal: AbortSignal): VideoContent =>
      content.contentType === 'video/quicktime'
        ? content
        : { contentType: 'video/quicktime', body: convert(content.body, signal) },
    /** Removes the files that a killed process left behind. */
    sweep: () => removeOldFiles(directory, { olderThan: Date.now() - abandonedMs }),
    close: () => pool.close(),
  };
};
