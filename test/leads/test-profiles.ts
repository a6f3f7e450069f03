import type { ForgottenPeople } from '../../src/leads/forgotten-people.ts';
import type { LeadIndex } from '../../src/leads/lead-index.ts';
import type { Lead, LeadFacets, LeadQuery } from '../../src/leads/lead-source.ts';

/** A set of profiles in one engine, with a list of forgotten people of its own. */
export interface TestProfiles {
  people: ForgottenPeople;
  /** Opens a keeper, as another process would. Closing it leaves the list open. */
  openKeeper(people?: ForgottenPeople): Promise<LeadIndex>;
  /** Searches the current profiles. Answers are not filtered by the list. */
  search(queries: readonly LeadQuery[]): Promise<Lead[][]>;
  /** The facets of the current profiles. */
  facets(): Promise<LeadFacets | undefined>;
  /** Closes everything, and removes it. */
  remove(): Promise<void>;
}
