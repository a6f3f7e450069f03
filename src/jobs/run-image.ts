import type { Log } from '../log.ts';
import { parseUsd } from '../money.ts';
import type { AspectRatio, GeneratedImage } from '../providers/image/image-provider.ts';
import type { RoutedImage } from '../providers/router.ts';
import type { NewMedia } from '../store/store.ts';
import type { Executor } from './executor.ts';
import { toFailedOutcome } from './provider-failure.ts';

/** What an image job is run from. */
export interface ImageJobRequest {
  prompt: string;
  aspectRatio: AspectRatio;
  /** The frozen price of the call, in USD. */
  priceUsd: string;
}

export interface RunImageOptions {
  routesFor: (sku: string) => RoutedImage;
  /** Keeps the bytes durably and answers the row to be written with the job's end, and the public URL. */
  saveMedia: (input: {
    bytes: Uint8Array;
    contentType: string;
    accountId: string;
    jobId: string;
  }) => Promise<{ media: NewMedia; url: string }>;
  log: Log;
}

/** Runs image jobs: the result is the contract's array of image data items with durable URLs. */
export const createRunImage =
  ({ routesFor, saveMedia, log }: RunImageOptions): Executor =>
  async (job, { signal }) => {
    const request = JSON.parse(job.request) as ImageJobRequest;
    let route = { provider: 'none', isSandbox: false };
    let images: GeneratedImage[];
    try {
      images = await routesFor(job.model).generate(
        { prompt: request.prompt, aspectRatio: request.aspectRatio },
        { signal, onRoute: (chosen) => (route = chosen) },
      );
    } catch (error) {
      log.warn({ err: error, jobId: job.id, provider: route.provider }, 'an image job failed upstream');
      return toFailedOutcome(error);
    }
    const saved = await Promise.all(
      images.map(async ({ bytes, contentType, revisedPrompt }) => ({
        ...(await saveMedia({ bytes, contentType, accountId: job.accountId, jobId: job.id })),
        revisedPrompt,
      })),
    );
    return {
      status: 'done',
      result: saved.map(({ url, revisedPrompt }) => ({ url, revised_prompt: revisedPrompt })),
      charge: parseUsd(request.priceUsd),
      media: saved.map(({ media }) => media),
      metadata: { sandbox: route.isSandbox, provider: route.provider },
    };
  };
