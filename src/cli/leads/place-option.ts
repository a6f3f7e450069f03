import { Option } from 'commander';
import { leadPlaceNames } from './place.ts';

/** --to, of every command on profiles. */
export const placeOption = (): Option =>
  new Option(
    '--to <place>',
    'the profiles in this place (default: the first of LEADS_SOURCES that is one of these, or embedded)',
  ).choices(leadPlaceNames);
