import { setImmediate } from 'node:timers/promises';
import type { Lead } from '../../lead-source.ts';
import type { Queryable, Snapshot } from '../load-snapshot.ts';
import { unitePlaces, type StoredPlaces } from '../part/places.ts';
import { findInBlock, startBytes } from '../part/term-blocks.ts';
import { partStatements } from './part-statements.ts';
import type { PartReader } from './search-parts.ts';

/** The data changed under a search, which must be made again. */
export class OutdatedSnapshotError extends Error {
  constructor() {
    super('The leads changed while they were searched.');
    this.name = 'OutdatedSnapshotError';
  }
}

/** Longer than this a search does not keep others waiting. */
const sliceMs = 3;

/**
 * Reads the parts of `snapshot`. Of each part, one block answers for a condition; a part without any terms has none.
 * `readLeads`, which comes last in every search, rejects with OutdatedSnapshotError when the snapshot is no longer
 * what stands in the database: so an answer is wholly of one revision, without a transaction. Between two statements
 * everything rejects with the reason of `signal` when that has aborted.
 */
export const createPartReader = (
  database: Queryable,
  { snapshot, signal }: { snapshot: Snapshot; signal: AbortSignal },
): PartReader => {
  const statements = partStatements(snapshot.generation);
  const ask: Queryable['query'] = async (config) => {
    signal.throwIfAborted();
    return database.query(config);
  };
  return {
    sizePlaces: async (part, conditions) => {
      const { rows } = await ask({
        ...statements.sizes,
        values: [[part.id], conditions.map(({ text }) => startBytes(text))],
      });
      const sizes = conditions.map(() => 0);
      for (const { term, size } of rows) sizes[Number(term) - 1] = Number(size);
      return sizes;
    },
    readPlaces: async (parts, conditions) => {
      const { rows } = await ask({
        ...statements.blocks,
        values: [parts.map(({ id }) => id), conditions.map(({ text }) => startBytes(text))],
      });
      const found = parts.map(() => conditions.map((): StoredPlaces => ({ form: 'list', bytes: nothing })));
      let sliceEndsAt = performance.now() + sliceMs;
      for (const { part: partNumber, term, data } of rows) {
        const [part, ofPart] = [parts[Number(partNumber) - 1], found[Number(partNumber) - 1]];
        const condition = conditions[Number(term) - 1];
        if (part === undefined || ofPart === undefined || condition === undefined) continue;
        const block = Buffer.from(String(data), 'base64');
        ofPart[Number(term) - 1] = unitePlaces(findInBlock(block, condition), part.profiles);
        if (performance.now() < sliceEndsAt) continue;
        await setImmediate();
        sliceEndsAt = performance.now() + sliceMs;
      }
      return found;
    },
    readLeads: async (places) => {
      const { rows } = await ask({
        ...statements.leads,
        values: [places.map(({ part }) => part), places.map(({ place }) => place)],
      });
      if (rows[0]?.['revision'] !== snapshot.revision) throw new OutdatedSnapshotError();
      return rows.flatMap(({ lead }): Lead[] => (typeof lead === 'string' ? [JSON.parse(lead)] : []));
    },
  };
};

const nothing = new Uint8Array();
