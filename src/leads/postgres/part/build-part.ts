import type { Lead } from '../../lead-source.ts';
import { indexTerms } from '../../query/index-terms.ts';
import { createRunTerms, type RunLimits } from '../../query/run-terms.ts';
import { writeTermBlocks, type TermBlock } from './term-blocks.ts';

/** How many profiles a part can have: a place has 16 bits. */
export const mostPartProfiles = 65_536;
/** A fence is the number of followers of every so-manieth profile of a part, from its first one on. */
export const fenceDistance = 256;

export interface BuiltPart {
  profiles: number;
  fences: Float64Array;
  mostFollowers: number;
  leastFollowers: number;
  /** To be taken before the next profile is added. */
  blocks: Iterable<TermBlock>;
}

/** Makes parts, one after the other, of profiles in the order of results. */
export interface PartBuilder {
  /** Profiles of the part so far. */
  readonly profiles: number;
  /** Whether no further profile may be added before `finish`: there are as many, or as long texts, as a part can have. */
  readonly isFull: boolean;
  add(lead: Lead): void;
  /** The part; the next profile begins another. */
  finish(): BuiltPart;
}

export const createPartBuilder = (limits?: RunLimits): PartBuilder => {
  const terms = createRunTerms(limits);
  let followers: number[] = [];
  return {
    get profiles() {
      return followers.length;
    },
    get isFull() {
      return followers.length > 0 && terms.isFull;
    },
    add: (lead) => {
      if (followers.length === 0) terms.clear();
      terms.add(indexTerms(lead));
      followers.push(lead.followers);
    },
    finish: () => {
      const profiles = followers.length;
      const part: BuiltPart = {
        profiles,
        fences: Float64Array.from(followers.filter((_, place) => place % fenceDistance === 0)),
        mostFollowers: followers[0] ?? 0,
        leastFollowers: followers.at(-1) ?? 0,
        blocks: writeTermBlocks([...terms.sorted()], profiles),
      };
      followers = [];
      return part;
    },
  };
};
