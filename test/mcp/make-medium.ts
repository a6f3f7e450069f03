import { randomBytes } from 'node:crypto';
import type { JobKind, MediaRole } from '../../src/store/store.ts';
import { finishing, openJob, opening, resultMedia, runningJob, worker } from '../store/builders.ts';
import type { TestGateway } from './start-gateway.ts';

const dayMs = 86_400_000;

interface Medium {
  owner: { accountId: string; keyId: string };
  kind: JobKind;
  role: MediaRole;
  contentType: string;
  bytes: Uint8Array;
  expiresAt: number;
}

export const videoParameters = {
  duration: 4,
  resolution: '480p',
  ratio: '16:9',
  generate_audio: true,
  output_format: 'mp4',
  billed_seconds: 4,
};

/** A job that ended with one medium. */
export const makeMedium = async (
  gateway: TestGateway,
  changes: Partial<Medium> = {},
): Promise<{ jobId: string; url: string }> => {
  const { services } = gateway;
  const now = Date.now();
  const { owner, kind, role, contentType, bytes, expiresAt }: Medium = {
    owner: { accountId: gateway.accountId, keyId: gateway.keyId },
    kind: 'image',
    role: 'image',
    contentType: 'image/png',
    bytes: randomBytes(64),
    expiresAt: now + dayMs,
    ...changes,
  };
  const job = runningJob(owner, {
    kind,
    leaseUntil: now + dayMs,
    deadlineAt: now + dayMs,
    parameters: kind === 'video' ? JSON.stringify(videoParameters) : null,
  });
  await openJob(services.store, opening(job, { now }));
  const signal = new AbortController().signal;
  const { accountId } = owner;
  const { id, sizeBytes, url } = await services.media.save({
    accountId,
    role,
    contentType,
    source: bytes,
    signal,
  });
  const media = resultMedia({ accountId, jobId: job.id }, { id, role, contentType, sizeBytes, expiresAt });
  await services.store.finishJob(finishing(job.id, { owner: worker, media: [media], now }));
  return { jobId: job.id, url };
};

export interface Refusal {
  code: number;
  message: string;
  data?: unknown;
}

export const refusalOf = async (reading: Promise<unknown>): Promise<Refusal> => {
  try {
    await reading;
  } catch (error) {
    return error as Refusal;
  }
  throw new Error('it was read');
};
