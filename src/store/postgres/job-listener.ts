import { Client, escapeIdentifier, type ClientConfig } from 'pg';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import type { JobAnnouncement } from '../statement.ts';

export interface JobListenerOptions {
  config: ClientConfig;
  announcement: JobAnnouncement;
  log: Log;
  /** Called when another process announces a job, and when an announcement may have been missed. */
  onQueued: () => void;
}

const firstRetryMs = 250;
const lastRetryMs = 5_000;
/** A connection that a firewall dropped shows only when it is used. */
const probeEveryMs = 30_000;
const endWithinMs = 5_000;

/** Listens for queued jobs on one connection, and reconnects when it is lost. */
export const listenForJobs = (options: JobListenerOptions): { stop(): Promise<void> } => {
  const stopping = new AbortController();
  const running = listenUntilStopped(options, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};

const listenUntilStopped = async (options: JobListenerOptions, signal: AbortSignal): Promise<void> => {
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      await listenOnce(options, signal);
    } catch (error) {
      if (!signal.aborted) options.log.warn({ err: error }, 'listening for queued jobs broke off');
    }
    retryMs = performance.now() - startedAt > lastRetryMs ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
    await pause(retryMs, signal);
  }
};

/** Listens on one connection until it ends or `signal` aborts. */
const listenOnce = async (
  { config, announcement, onQueued }: JobListenerOptions,
  signal: AbortSignal,
): Promise<void> => {
  const client = new Client(config);
  const ended = new AbortController();
  const endWith = (reason?: unknown): void => ended.abort(reason);
  client.on('error', endWith);
  client.on('end', () => endWith(new Error('the server closed the connection')));
  client.on('notification', ({ payload }) => {
    if (payload !== announcement.sender) onQueued();
  });
  const either = AbortSignal.any([signal, ended.signal]);
  try {
    await client.connect();
    await client.query(`listen ${escapeIdentifier(announcement.channel)}`);
    onQueued();
    while (!either.aborted) {
      await pause(probeEveryMs, either);
      if (!either.aborted) await client.query('select 1');
    }
    if (!signal.aborted) throw ended.signal.reason;
  } finally {
    await Promise.race([client.end(), pause(endWithinMs)]);
  }
};
