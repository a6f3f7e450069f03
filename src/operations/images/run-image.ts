import type { Readable } from 'node:stream';
import type { Catalogs } from '../../accounts/catalog/catalog.ts';
import { createMemoryBudget } from '../../limits/memory-budget.ts';
import type { Log } from '../../kit/log.ts';
import { parseUsd } from '../../kit/money.ts';
import type { AspectRatio, GeneratedImage, InputImage } from '../../providers/image/image-provider.ts';
import type { ServedRoute } from '../../providers/route-attempts.ts';
import type { RoutedImage } from '../../providers/router.ts';
import type { Executor } from '../../jobs/executor.ts';
import type { MediaLibrary } from '../../media/media-library.ts';
import { outliveOutage } from '../../kit/repeat.ts';
import { everyRouteRests, toFailedOutcome } from '../../jobs/provider-failure.ts';
import { madeBy } from '../../jobs/public-job.ts';

/** An image that a job edits: our own checked copy. */
export interface ImageJobInput {
  id: string;
  contentType: string;
  sizeBytes: number;
}

export interface ImageJobRequest {
  prompt: string;
  aspectRatio: AspectRatio;
  /** Empty: made from the prompt alone. Jobs of an earlier version lack it. */
  inputs?: ImageJobInput[];
  /** The frozen price of the call, in USD. */
  priceUsd: string;
  /** The id of the request that asked for it. Jobs of an earlier version lack it. */
  requestId?: string;
}

export interface RunImageOptions {
  routesFor: (sku: string) => Pick<RoutedImage, 'generate'>;
  costOf: Catalogs['costOf'];
  /** Reads a saved input. Null when its bytes are gone. */
  readInput: (id: string) => Promise<Readable | null>;
  saveResult: MediaLibrary['save'];
  keepMs: number;
  /** The memory for inputs of all running jobs. A job waits until its inputs fit. */
  memoryBytes: number;
  log: Log;
}

const longestWaitMs = 600_000;

/** Runs image jobs: the result is the contract's array of image data items with durable URLs. */
export const createRunImage = ({
  routesFor,
  costOf,
  readInput,
  saveResult,
  keepMs,
  memoryBytes,
  log,
}: RunImageOptions): Executor => {
  const memory = createMemoryBudget({ totalBytes: memoryBytes, longestWaitMs });

  return async (job, { signal, isQueued }) => {
    const request = JSON.parse(job.request) as ImageJobRequest;
    const { inputs = [] } = request;
    // An image from text alone needs no memory for inputs.
    const release =
      inputs.length === 0
        ? () => undefined
        : await memory.reserve(sizeOf(inputs), { signal, accountId: job.accountId });
    let route: ServedRoute = { provider: 'none', model: '', isSandbox: false };
    let image: GeneratedImage;
    try {
      const { prompt, aspectRatio } = request;
      image = await routesFor(job.model).generate(
        { prompt, aspectRatio, inputs: await load(inputs, readInput) },
        { signal, onRoute: (chosen) => (route = chosen) },
      );
    } catch (error) {
      if (isQueued && everyRouteRests(error)) return { status: 'queued' };
      return toFailedOutcome(error, { log, job, requestId: request.requestId });
    } finally {
      release();
    }
    const { bytes: source, contentType, revisedPrompt } = image;
    const { url, ...medium } = await outliveOutage(
      () => saveResult({ accountId: job.accountId, role: 'image', contentType, source, signal }),
      { what: 'saving an image', jobId: job.id, log, signal },
    );
    const cost = costOf(job.model, route);
    return {
      status: 'done',
      result: [{ url, revised_prompt: revisedPrompt }],
      charge: parseUsd(request.priceUsd),
      cost: cost?.unit === 'call' ? cost.price : null,
      media: [{ ...medium, keepMs }],
      metadata: madeBy(route),
    };
  };
};

/** Returns how many bytes inputs have together. */
export const sizeOf = (inputs: readonly Pick<ImageJobInput, 'sizeBytes'>[]): number =>
  inputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

const load = (
  inputs: readonly ImageJobInput[],
  readInput: RunImageOptions['readInput'],
): Promise<InputImage[]> =>
  Promise.all(
    inputs.map(async ({ id, contentType }) => {
      const stream = await readInput(id);
      if (stream === null) throw new Error(`the bytes of input ${id} are gone`);
      const chunks: Buffer[] = await stream.toArray();
      return { bytes: Buffer.concat(chunks), contentType };
    }),
  );
