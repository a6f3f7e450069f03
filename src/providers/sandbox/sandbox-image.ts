import type { ImageProvider } from '../image/image-provider.ts';
import { ProviderError } from '../provider-error.ts';
import { createWorkerPool, WorkerPoolError } from '../worker-pool.ts';
import { excerpt } from './compose-text.ts';
import type { PictureRequest } from './pictures/draw-picture.ts';
import { pictureSize } from './pictures/picture-size.ts';
import { obeyTriggers, readTriggers, stall } from './triggers.ts';

export interface SandboxImage extends ImageProvider {
  close(): Promise<void>;
}

const longestCaption = 400;

/**
 * Pictures without a model: a drawn landscape as PNG in the asked ratio, with the prompt's words and the mark
 * "SANDBOX" on it. The same request has the same picture. Drawing takes 0.1 to 0.3 s in a thread of its own.
 */
export const createSandboxImage = (): SandboxImage => {
  const pool = createWorkerPool<PictureRequest, Uint8Array>({
    file: new URL('./pictures/worker.ts', import.meta.url),
    size: 2,
    queueLimit: 200,
    timeoutMs: 15_000,
    maxHeapMb: 256,
  });
  return {
    generate: async ({ prompt, aspectRatio }, { signal }) => {
      const triggers = readTriggers(prompt);
      await obeyTriggers(triggers, signal);
      if (triggers.stalls) await stall(signal);
      const size = pictureSize(aspectRatio);
      try {
        const bytes = await pool.run(
          { ...size, caption: excerpt(prompt, longestCaption), seed: prompt },
          signal,
        );
        return [{ bytes, contentType: 'image/png', revisedPrompt: null }];
      } catch (error) {
        throw error instanceof WorkerPoolError ? toProviderError(error) : error;
      }
    },
    close: () => pool.close(),
  };
};

const toProviderError = (error: WorkerPoolError): ProviderError =>
  new ProviderError(`the sandbox drew no picture: ${error.message}`, {
    failure: 'retry_other',
    code: error.reason === 'full' || error.reason === 'closed' ? 'upstream_unavailable' : 'upstream_error',
    cause: error,
  });
