import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';

/** Where an engine finds its input and keeps its profiles for the time of a benchmark. */
export interface BenchPlace {
  /** For index files; exists. */
  folder: string;
  /** The profiles as a CSV file. */
  csvFile: string;
  profileCount: number;
  seed: number;
}

export interface LoadedProfiles {
  profiles: number;
  /** Of the index on the disk, everything that is kept. */
  bytes: number;
  /** What was loaded from. */
  input: 'CSV file, checked';
  /** Of the database server, which is no part of the loading process. */
  serverCpuSeconds?: number;
}

export interface OpenEngine {
  search(query: LeadQuery): Promise<Lead[]>;
  /** The processes of a database server that answer. */
  backends?: readonly number[];
  close(): Promise<void>;
}

/** A way of answering searches. `load` and each of `open` run in processes of their own. */
export interface BenchEngine {
  /** What was there before is gone. */
  load(place: BenchPlace): Promise<LoadedProfiles>;
  /** By how the searches reach the index. */
  open: Partial<Record<Access, (place: BenchPlace) => Promise<OpenEngine>>>;
  /** The settings of a gateway that searches these profiles. */
  environment(place: BenchPlace): Record<string, string>;
  /** Removes everything that `load` left. */
  remove(place: BenchPlace): Promise<void>;
}

/** `gateway`: as the gateway searches, from its main thread. `direct`: one call after the other in the same thread, or on one connection. */
export type Access = 'gateway' | 'direct';

export const engineNames = ['embedded', 'postgres'] as const;
export type EngineName = (typeof engineNames)[number];

export const accessesOf: Record<EngineName, readonly Access[]> = {
  embedded: ['gateway', 'direct'],
  postgres: ['gateway', 'direct'],
};
