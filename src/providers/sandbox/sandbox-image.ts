import { unlessAborted } from '../../kit/deadline.ts';
import { createFairShareLimiter, QueueFullError } from '../../kit/fair-share-limiter.ts';
import { ImageError } from '../image/decode-image.ts';
import type { ImageProvider, ImageRequest } from '../image/image-provider.ts';
import { ProviderError } from '../provider-error.ts';
import { ThreadError } from '../../kit/threads/connect-thread.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import { excerpt } from './compose-text.ts';
import { editPictures, pictureSize } from './pictures/edit-pictures.ts';
import type { FrameSize } from '../video/video-provider.ts';
import type { DrawTask } from './pictures/worker.ts';
import { obeyTriggers, readTriggers, stall } from './triggers.ts';

const maxCaptionLength = 400;

/** Draws a landscape with the prompt's words, or puts given pictures under a tint: the same for the same request. */
export const createSandboxImage = (): ImageProvider & { close(): Promise<void> } => {
  const pool = createThreadPool<DrawTask, Uint8Array>({
    file: new URL('./pictures/worker.ts', import.meta.url),
    size: 2,
    queueLimit: 200,
    timeoutMs: 15_000,
    maxHeapMb: 256,
  });
  // The other edits wait, so that their uncompressed pictures are not all in memory at once.
  const edits = createFairShareLimiter({ total: 2, queue: { total: 200 } });

  const draw = async ({ prompt, aspectRatio, inputs }: ImageRequest, signal: AbortSignal) => {
    const layer = (name: DrawTask['layer'], size: FrameSize): Promise<Uint8Array> =>
      pool.run({ ...size, layer: name, caption: excerpt(prompt, maxCaptionLength), seed: prompt }, signal);
    if (inputs.length === 0) return layer('picture', pictureSize(aspectRatio));
    const overlay = (size: FrameSize) => layer('overlay', size);
    // A step under way does not hear an abort; its caller does.
    return unlessAborted(
      edits.run({}, { signal }, () => editPictures({ inputs, aspectRatio, signal, overlay })),
      signal,
    );
  };

  return {
    generate: async (request, { signal }) => {
      const triggers = readTriggers(request.prompt);
      await obeyTriggers(triggers, signal);
      if (triggers.stalls) await stall(signal);
      try {
        return { bytes: await draw(request, signal), contentType: 'image/png', revisedPrompt: null };
      } catch (error) {
        signal.throwIfAborted();
        throw toProviderError(error);
      }
    },
    close: () => pool.close(),
  };
};

const toProviderError = (cause: unknown): ProviderError => {
  const isBusy =
    cause instanceof QueueFullError ||
    (cause instanceof ImageError && cause.problem === 'too_slow') ||
    (cause instanceof ThreadError && (cause.reason === 'full' || cause.reason === 'closed'));
  return new ProviderError(`the sandbox drew no picture: ${cause instanceof Error ? cause.message : ''}`, {
    failure: 'retry_other',
    code: isBusy ? 'upstream_unavailable' : 'upstream_error',
    cause,
  });
};
