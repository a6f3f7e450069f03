import { begin, link, make, metaOf, refusalOf, say, show } from './bridge.js';

/** As many rows as stay below 500 pixels, above which hosts add a scroll bar. */
const pageSize = 7;

const allColumns = [
  { field: 'username', title: 'Profile' },
  { field: 'full_name', title: 'Name', className: 'wide' },
  { field: 'followers', title: 'Followers', className: 'number' },
  { field: 'country', title: 'Country', className: 'wide short' },
  { field: 'category', title: 'Category', className: 'wide' },
  { field: 'public_email', title: 'Email', className: 'wide' },
];

/** The columns in which some profile has a value. */
let columns = [];
let profiles = [];
/** The elements of the list, which a profile replaces for a while. */
let list = [];
let page = 0;

const button = (text, onclick, properties = {}) => make('button', { onclick, ...properties }, text);
const body = make('tbody');
const position = make('p', { className: 'soft', role: 'status' });
const back = button('Previous', () => turnTo(page - 1));
const next = button('Next', () => turnTo(page + 1));

const shown = (value) => (typeof value === 'number' ? value.toLocaleString() : (value ?? ''));

const profileLink = (username) =>
  link(`https://www.instagram.com/${encodeURIComponent(username)}/`, make('bdi', {}, username));

const turnTo = (number) => {
  const last = Math.ceil(profiles.length / pageSize) - 1;
  page = Math.min(last, Math.max(0, number));
  const from = page * pageSize;
  const rows = profiles.slice(from, from + pageSize);
  body.replaceChildren(...rows.map(row));
  position.textContent = `${from + 1} to ${from + rows.length} of ${profiles.length}`;
  // A disabled button would lose the focus.
  back.ariaDisabled = String(page === 0);
  next.ariaDisabled = String(page === last);
};

const row = (profile) => {
  const more = button('⋯', () => showProfile(profile, more), { ariaLabel: `More of ${profile.username}` });
  const cells = columns.map(({ field, className = '' }) => {
    const value =
      field === 'username' ? profileLink(profile.username) : make('bdi', {}, shown(profile[field]));
    return make('td', { className }, value);
  });
  return make('tr', {}, ...cells, make('td', { className: 'more' }, more));
};

/** Sorts by a field; what has no value comes last in both directions. */
const sortBy = (field, isDown) =>
  profiles.sort(({ [field]: one }, { [field]: other }) => {
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    const order = typeof one === 'number' ? one - other : String(one).localeCompare(String(other));
    return isDown ? -order : order;
  });

const head = ({ field, title, className = '' }) => {
  const sort = () => {
    const before = cell.ariaSort;
    const isDown = before === null ? className === 'number' : before === 'ascending';
    for (const other of cell.parentElement.children) other.ariaSort = null;
    cell.ariaSort = isDown ? 'descending' : 'ascending';
    sortBy(field, isDown);
    turnTo(0);
  };
  const cell = make('th', { scope: 'col', className }, button(title, sort));
  return cell;
};

/** Makes a line of the texts that there are. Each has its own writing direction. */
const line = (...parts) =>
  make(
    'p',
    { className: 'line' },
    ...parts.filter(Boolean).flatMap((part, index) => [index === 0 ? '' : ' · ', make('bdi', {}, part)]),
  );

const count = (number, noun) => (number === undefined ? '' : `${shown(number)} ${noun}`);

/** Shows all that is known of a profile in place of the list. */
const showProfile = (profile, opener) => {
  const { followers, following, media_count: posts, gender, city, country } = profile;
  const close = button('Back to the list', () => {
    show(...list);
    opener.focus();
  });
  show(
    profileLink(profile.username),
    line(profile.full_name),
    line(count(followers, 'followers'), count(following, 'following'), count(posts, 'posts')),
    line(profile.category, gender && `${gender} (predicted)`, [city, country].filter(Boolean).join(', ')),
    line(profile.is_verified && 'verified', profile.is_business && 'business account', profile.public_email),
    say(profile.bio ?? ''),
    make('div', { className: 'bar' }, close),
  );
  close.focus();
};

const showResult = (result) => {
  const refusal = refusalOf(result);
  if (refusal !== null) return show(say(refusal, 'bad'));
  const { results = [], matches } = result.structuredContent;
  if (results.length === 0) return show(say(`${matches ?? 'No'} profiles match.`));
  profiles = [...results];
  columns = allColumns.filter(({ field }) => profiles.some((profile) => profile[field] !== undefined));
  const heads = make('tr', {}, ...columns.map(head), make('th', { className: 'more', ariaLabel: 'More' }));
  list = [
    metaOf(result, 'sandbox') ? say('These profiles are generated and fictional.', 'soft') : '',
    make('table', {}, make('thead', {}, heads), body),
    make('div', { className: 'bar' }, position, back, next),
  ];
  show(...list);
  turnTo(0);
};

void begin('leads', showResult);
